"""What must be the same when a run goes on: each difference is named, with both values."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from trimtab.errors import InputError, Problem

_ABSENT = "nothing"


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
    saved: Mapping[str, str], current: Mapping[str, str], *, may_change: Collection[str] = ()
) -> None:
    """Raises InputError with one problem for each name whose value is not the one of the checkpoint.

    A name in `may_change` is let pass together with all that lie under it: `recipe.evaluate`.
    """
    problems = [
        Problem(
            what=f"{name} is not what it was when the checkpoint was taken",
            got=current.get(name, _ABSENT),
            allowed=saved.get(name, _ABSENT),
            fix="put it back (say it again, if it came from the command line), or begin a new run with another --out",
        )
        for name in sorted(saved.keys() | current.keys())
        if saved.get(name) != current.get(name) and not _let_pass(name, may_change)
    ]
    if problems:
        raise InputError(*problems)


def _let_pass(name: str, may_change: Collection[str]) -> bool:
    return any(name == each or name.startswith(each + ".") for each in may_change)
