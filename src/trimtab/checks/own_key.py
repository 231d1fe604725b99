"""A tool's own key wherever it is written: at the root of a file, or as an argument of a call in a script."""

from collections.abc import Iterator
from heapq import merge
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Call
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


def own(run: Description, name: str) -> Setting | None:
    """The setting of a key as the tool spells it, dotted from the root; scripts put the call before it."""
    if name in run.keys:
        return run.keys[name]
    if run.document.syntax in ("python", "shell"):
        return next((found for key, found in run.keys.items() if key.partition(".")[2] == name), None)
    return None


def own_value(run: Description, name: str) -> Any:
    """Its value, None if it is not written or no literal."""
    setting = own(run, name)
    return None if setting is None else setting.value


def is_unset(run: Description, name: str) -> bool:
    """Whether nothing can set the key, so that the tool's default holds. Of a command line nobody can say."""
    if own(run, name) is not None or run.document.syntax == "shell":
        return False
    if run.document.syntax in ("yaml", "json"):
        return name not in run.document.entries
    makers = {key.partition(".")[0] for key in run.keys}
    calls = [call for call in run.document.calls if call.name in makers]
    return bool(calls) and not any(
        call.has_rest or call.positional or name in call.arguments for call in calls
    )


def calls_of(run: Description, *names: str) -> Iterator[Call]:
    """Calls of a script by the last part of their name, in the order of the file."""
    flow = run.document.flow
    if flow is None:
        return (call for call in run.document.calls if call.name in names)
    index: dict[str, list[Call]] | None = flow.answers.get("<calls>")
    if index is None:
        index = flow.answers["<calls>"] = {}
        for call in run.document.calls:
            index.setdefault(call.name, []).append(call)
    found = [calls for name in dict.fromkeys(names) if (calls := index.get(name)) is not None]
    return iter(found[0]) if len(found) == 1 else merge(*found, key=_place)


def _place(call: Call) -> Place:
    return call.place


def literal(call: Call, name: str) -> Any:
    """What a call's argument is, None if it is not given or no literal."""
    entry = call.arguments.get(name)
    return None if entry is None or entry.value is UNKNOWN else entry.value
