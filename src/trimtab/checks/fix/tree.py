"""What an edit means for the values of a file: the measure that every change of its text is held against."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, cast

from trimtab.checks.edits import AddKey, Edit, RemoveKey, RenameKey, SetValue


class CannotMend(Exception):
    """Why an edit is left to a person."""


def edited(tree: Any, edit: Edit) -> Any:
    """A copy of plain nested values with one edit made; raises CannotMend where the edit has no meaning."""
    copy = deepcopy(tree)
    mapping, name = _parent(copy, edit.after if isinstance(edit, AddKey) else edit.key)
    pairs = list(mapping.items())
    index = next(number for number, (key, _) in enumerate(pairs) if key == name)
    match edit:
        case SetValue():
            pairs[index] = (name, edit.value)
        case RemoveKey():
            del pairs[index]
        case RenameKey():
            pairs[index] = (_free(mapping, new_name(edit)), mapping[name])
        case AddKey():
            pairs.insert(index + 1, (_free(mapping, added_name(edit)), edit.value))
    mapping.clear()
    mapping.update(pairs)
    return copy


def new_name(edit: RenameKey) -> str:
    """The last part of the new name: a rename never moves a key to another mapping."""
    parent, _, _ = edit.key.rpartition(".")
    return edit.name.removeprefix(parent + ".") if parent else edit.name


def added_name(edit: AddKey) -> str:
    """The last part of a key that is to be added beside `after`."""
    parent, _, _ = edit.after.rpartition(".")
    return edit.key.removeprefix(parent + ".") if parent else edit.key


def splits(parts: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Every way to take a first key off a dotted path, for keys that hold dots themselves; the shortest first."""
    return ((".".join(parts[:count]), parts[count:]) for count in range(1, len(parts) + 1))


def same(one: Any, other: Any) -> bool:
    """Equal in value, type and order of keys; NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        first, second = cast(dict[Any, Any], one), cast(dict[Any, Any], other)
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(one, list):
        left, right = cast(list[Any], one), cast(list[Any], other)
        return len(left) == len(right) and all(map(same, left, right))
    return one == other or (one != one and other != other)


def _free(mapping: dict[str, Any], name: str) -> str:
    if name in mapping:
        raise CannotMend(f"`{name}` is there already")
    return name


def _parent(tree: Any, dotted: str) -> tuple[dict[str, Any], str]:
    found = _find(tree, dotted.split("."))
    if found is None:
        raise CannotMend(f"`{dotted}` is not written in this file")
    return found


def _find(tree: Any, parts: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    if isinstance(tree, list):
        items = cast(list[Any], tree)
        index = int(parts[0]) if parts[0].isdecimal() else len(items)
        return _find(items[index], parts[1:]) if index < len(items) and len(parts) > 1 else None
    if not isinstance(tree, dict):
        return None
    mapping = cast(dict[str, Any], tree)
    for name, rest in splits(parts):
        if name not in mapping:
            continue
        found = _find(mapping[name], rest) if rest else (mapping, name)
        if found is not None:
            return found
    return None
