"""`KEY=VALUE` of the command line, put into a tree of plain values."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from trimtab.config.describe import shown
from trimtab.config.places import child
from trimtab.config.read_yaml import read_yaml
from trimtab.errors import InputError, Problem


def apply_overrides(tree: Any, overrides: tuple[str, ...]) -> tuple[Any, dict[str, str]]:
    """The tree with every override in it, and where each overridden path came from.

    Items of lists are counted from 0 (`data.train.0.weight=2`). Raises InputError for what is not `KEY=VALUE`, for a
    value that is not YAML and for a path through something that has no keys; whether the keys are known is judged
    later, with those of the file. A dash alone is text, and no list of nothing: programs take it for standard input.
    """
    tree, origins, problems = deepcopy(tree), dict[str, str](), list[Problem]()
    for override in overrides:
        key, sign, text = override.partition("=")
        key, where = key.strip(), f"command line: {override}"
        if not sign or not all(key.split(".")):
            problems.append(
                Problem(
                    what="not an override",
                    got=shown(override),
                    allowed="KEY=VALUE",
                    fix="write it like `step.optimizer.learning_rate=3e-4`",
                    where="command line",
                )
            )
            continue
        try:
            value = "-" if text.strip() == "-" else read_yaml(text, name=where).value
            _put(tree, key.split("."), value, where=where)
        except InputError as error:
            problems.extend(replace(problem, where=where) for problem in error.problems)
        origins[key] = where
    if problems:
        raise InputError(*problems)
    return tree, origins


def _put(tree: Any, names: list[str], value: Any, *, where: str) -> None:
    holder = tree
    for depth, name in enumerate(names):
        if isinstance(holder, list):
            items = cast("list[Any]", holder)
            if not name.isdigit() or int(name) >= len(items):
                raise InputError(
                    Problem(
                        what=f"{'.'.join(names[: depth + 1])}: no such item",
                        got=shown(name),
                        allowed=f"0 to {len(items) - 1}, the items of the list",
                        fix="count from 0; a new item is written into the recipe itself",
                        where=where,
                    )
                )
        elif not isinstance(holder, dict):
            raise InputError(
                Problem(
                    what=f"{'.'.join(names[:depth])}: not a group of keys",
                    got=shown(holder),
                    allowed="a path through groups of keys and the numbers of items",
                    fix=f"write `{'.'.join(names[:depth])}=VALUE`, or check the spelling of the key",
                    where=where,
                )
            )
        last = depth == len(names) - 1
        if not last and child(holder, name) is None:
            _set(holder, name, {})
        if last:
            _set(holder, name, value)
        holder = child(holder, name)


def _set(holder: Any, name: str, value: Any) -> None:
    holder[int(name) if isinstance(holder, list) else name] = value
