"""What must be the same when a run resumes: each difference is named, with both values."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

from trimtab.errors import InputError, Problem

_ABSENT = "nothing"
_RESTORE = "restore it (repeat it if it came from the command line), or start a new run with another --out"


def recipe_fingerprints(tree: Mapping[str, Any], *, name: str = "recipe") -> dict[str, str]:
    """One entry for each setting, such as `recipe.step.clip.at: 1.0`, so that a difference can be named by its key."""
    entries: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            entries |= recipe_fingerprints(value, name=f"{name}.{key}")
        else:
            entries[f"{name}.{key}"] = json.dumps(value, default=str, sort_keys=True)
    return entries


def check_fingerprints(
    saved: Mapping[str, str],
    current: Mapping[str, str],
    *,
    may_change: Collection[str] = (),
    as_read_now: Mapping[str, str] | None = None,
    fixes: Callable[[Sequence[str]], Mapping[str, str]] | None = None,
) -> None:
    """Raises InputError with one problem for each name whose value is not the one of the checkpoint.

    A name in `may_change` is let pass together with all that lie under it: `recipe.evaluate`. `as_read_now` is what
    this version makes of the recipe that was stored with the run: a setting that the checkpoint does not know, since it
    is newer than the run, has there the default that the run was trained with. `fixes` gives the way out for each of
    the names that differ.
    """
    older = as_read_now or {}
    names = [
        name
        for name in sorted(saved.keys() | current.keys())
        if saved.get(name) != current.get(name)
        and not _let_pass(name, may_change)
        and not _is_newer(name, saved, current, older)
    ]
    # A group that one of the two lacks is one difference.
    whole = {name: _absent_group(name, saved, current) for name in names}
    names = [*dict.fromkeys(group or name for name, group in whole.items())]
    offered = {} if fixes is None else fixes(names)
    problems = [
        Problem(
            what=f"{name} has changed since the checkpoint was written",
            got=_told(name, current),
            allowed=_told(name, saved),
            fix=offered.get(name, _RESTORE),
        )
        for name in names
    ]
    if problems:
        raise InputError(*problems)


def _absent_group(name: str, saved: Mapping[str, str], current: Mapping[str, str]) -> str:
    """The group that a name is in, such as `recipe.adapter`, where one of the two has no part of it."""
    group = ".".join(name.split(".")[:2])
    sides = [any(each.startswith(f"{group}.") for each in side) for side in (saved, current)]
    return group if name.startswith(f"{group}.") and sides.count(True) == 1 else ""


def _told(name: str, side: Mapping[str, str]) -> str:
    """A value, or those of a group."""
    parts = [f"{each.removeprefix(f'{name}.')}: {side[each]}" for each in side if each.startswith(f"{name}.")]
    return side.get(name) or ", ".join(parts)[:200] or _ABSENT


def _is_newer(
    name: str, saved: Mapping[str, str], current: Mapping[str, str], older: Mapping[str, str]
) -> bool:
    """Whether the difference is only that this version knows more settings than the one that took the checkpoint."""
    if name not in current or current[name] != older.get(name):
        return False
    if name not in saved:
        return True
    then, now = json.loads(saved[name]), json.loads(current[name])
    return _known_then(now, then) == then


def _known_then(now: Any, then: Any) -> Any:
    """The part of a value that the older one has keys for."""
    if isinstance(now, dict) and isinstance(then, dict):
        known, asked = cast("dict[str, Any]", now), cast("dict[str, Any]", then)
        return {key: _known_then(known[key], asked[key]) for key in asked if key in known}
    if isinstance(now, list) and isinstance(then, list):
        pair = cast("list[Any]", now), cast("list[Any]", then)
        return (
            [_known_then(*each) for each in zip(*pair, strict=True)] if len(pair[0]) == len(pair[1]) else now
        )
    return now


def _let_pass(name: str, may_change: Collection[str]) -> bool:
    return any(name == each or name.startswith(each + ".") for each in may_change)
