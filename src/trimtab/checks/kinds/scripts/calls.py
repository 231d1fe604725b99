"""Arguments of a call as settings: `TrainingArguments.learning_rate`, nested mappings taken apart."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.kinds.written import Written, hidden_in, settings_of
from trimtab.checks.setting import Setting

_PASSING_ON = frozenset(("transformers", "trl", "peft", "unsloth"))
"""Packages whose classes of these names are the library's own."""
_CLASS = re.compile(r"class\s+(\w+)")
"""Without a border of words before it, for which the search would have to stop at every character of a notebook."""
_WORD = re.compile(r"\w")
_MEMBER = re.compile(r"(?:\w+\.)*[A-Z]\w*\.([A-Z][A-Z0-9_]*)")


def written_of(call: Call, document: Document, table: KeyTable | None = None) -> Written:
    """What a call sets, the call's name before its keys; nothing is a default where `**rest` may say otherwise."""
    entries = [*call.arguments.values()]
    settings = settings_of(_flat(entries, table), prefix=f"{call.name}.")
    # The first argument of a configuration is its folder; more by position are not told by name.
    hidden = hidden_in(entries) | frozenset[str](("output_dir",) if call.positional else ())
    return Written(
        path=document.path,
        settings=settings,
        hidden=hidden,
        table=table,
        is_whole=not call.has_rest and len(call.positional) <= 1,
        prefix=f"{call.name}.",
    )


def positional(call: Call, index: int, name: str) -> Setting | None:
    """An argument that may be written by position or by name; None if it is neither or no literal."""
    if name in call.arguments:
        entry = call.arguments[name]
        return next(iter(settings_of([entry], prefix=f"{call.name}.").values()), None)
    if index >= len(call.positional) or call.positional[index] is UNKNOWN:
        return None
    value = call.positional[index]
    return Setting(key=f"{call.name}.{name}", value=value, parsed=value, place=call.place)


def agreeing(settings: Iterable[Setting]) -> Setting | None:
    """The first of settings that all say the same; None if they differ or there is none."""
    found = list(settings)
    return found[0] if found and all(one.value == found[0].value for one in found) else None


def defines(document: Document, name: str) -> bool:
    """Whether a script has a class of its own of this name, with whatever arguments."""
    return name in _classes(document.text)


@lru_cache(maxsize=8)
def _classes(text: str) -> frozenset[str]:
    found = _CLASS.finditer(text)
    return frozenset(
        each[1] for each in found if not _WORD.match(text, max(each.start() - 1, 0)) or not each.start()
    )


def may_be_of(call: Call, document: Document, library: str) -> bool:
    """Whether a call may mean a library's class: not where another package is seen to bring one of that name."""
    package = call.qualifier.partition(".")[0]
    if package:
        return package == library or package not in document.imports
    brought_by = document.sources.get(call.name)
    return brought_by is None or bool(brought_by & {library, *_PASSING_ON})


def _flat(entries: Iterable[Entry], table: KeyTable | None) -> Iterator[Entry]:
    for entry in entries:
        value = _member(entry.value, table.keys.get(entry.key) if table else None)
        yield entry if value is entry.value else replace(entry, value=value)
        if isinstance(value, dict):
            inner = cast("dict[object, Any]", value).items()
            yield from _flat(
                (replace(entry, key=f"{entry.key}.{key}", value=item) for key, item in inner), None
            )


def _member(value: Any, key: Key | None) -> Any:
    """`IntervalStrategy.STEPS` as the word that it stands for."""
    found = _MEMBER.fullmatch(value) if isinstance(value, str) and key is not None else None
    if found is None or key is None:
        return value
    words = (found[1].lower(), found[1])
    return next((word for word in words if word in key.choices), value)
