"""Problems of a tree of plain values: unknown keys, wrong types, values out of range."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trimtab.config.complaint import Complaint
from trimtab.config.describe import describe, join_words, shown
from trimtab.config.nearest import did_you_mean, nearest_keys, nearest_words
from trimtab.config.not_yet import BY_KIND, not_yet
from trimtab.config.places import ROOT, Place, child, keys_of, kind_of, place_of
from trimtab.config.settings import Settings
from trimtab.units import Duration

MOST_GUESSES = 200
"""For so many unknown keys it is asked what they may have meant; for tens of thousands it would take minutes."""


def complaints_about(tree: Any, *, root: Place = ROOT) -> list[Complaint]:
    """Everything that keeps plain values from being a recipe, or what else `root` is; empty if nothing does."""
    found = list(_unknown_keys(root, tree, "", iter(range(MOST_GUESSES))))
    errors = _errors_of(tree, root.models[0])
    by_path: dict[str, list[ErrorDetails]] = {}
    for error in errors:
        by_path.setdefault(_path_of(error, tree, root), []).append(error)
    meant = {complaint.fix for complaint in found}
    for path, details in by_path.items():
        complaint = _translated(path, details, tree, root)
        misspelled = details[0]["type"] == "missing" and did_you_mean([path]) in meant
        if complaint is not None and not misspelled:
            found.append(complaint)
    return list(dict.fromkeys(found))


def _errors_of(tree: Any, model: type[Settings]) -> list[ErrorDetails]:
    try:
        model.model_validate(tree)
    except ValidationError as error:
        return error.errors(include_url=False)
    return []


def _unknown_keys(place: Place, value: Any, path: str, guesses: Iterator[int]) -> Iterator[Complaint]:
    """Unknown keys at any depth, also where pydantic stops at an error above; and truth values used as numbers.
    `guesses` has one item for each of them that may be guessed at."""
    if isinstance(value, Mapping):
        group = cast("Mapping[str, Any]", value)
        for name, part in group.items():
            below = place.below(group, name)
            if below is not None:
                yield from _unknown_keys(below, part, f"{path}{name}.", guesses)
            elif (complaint := _unknown_key(place, group, path, name, guesses)) is not None:
                yield complaint
    elif isinstance(value, list) and place.item is not None and not place.named:
        for index, part in enumerate(cast("list[Any]", value)):
            yield from _unknown_keys(place.item, part, f"{path}{index}.", guesses)
    elif (
        isinstance(value, bool)
        and bool not in place.choices
        and (int in place.choices or float in place.choices)
    ):
        yield _wrong(path[:-1], "wrong type", value, place)


def _is_truth_for_number(value: Any, place: Place) -> bool:
    """Python, and so pydantic, counts True as 1."""
    return (
        isinstance(value, bool) and bool not in place.choices and not {int, float}.isdisjoint(place.choices)
    )


def _unknown_key(
    place: Place, group: Mapping[str, Any], path: str, name: str, guesses: Iterator[int]
) -> Complaint | None:
    holder = place.item if place.named and place.item is not None else place
    model = holder.model_for(group)
    if model is None or name in model.shorthands:  # an unknown kind, or no group at all: said elsewhere
        return None
    owners = [kind_of(other) for other in holder.models if other is not model and name in keys_of(other)]
    got, allowed = f"{name}: {shown(group[name])}", f"the keys {join_words(keys_of(model), 'and')}"
    if name == "<<":
        return Complaint(
            path=path + name,
            what="a merge key, which recipes do not support",
            got=got,
            allowed=allowed,
            fix="write the keys out here, or name the whole group once with `key: &name` and again with `key: *name`",
        )
    if owners:
        return Complaint(
            path=path + name,
            what=f"unknown key for the kind {kind_of(model)}",
            got=got,
            allowed=allowed,
            fix=f"remove it; it belongs to the kind {join_words(owners, 'or')}",
        )
    return Complaint(
        path=path + name,
        what="unknown key",
        got=got,
        allowed=allowed,
        fix=not_yet(path + name)
        or did_you_mean([] if next(guesses, None) is None else nearest_keys(path + name, keys_of(model)))
        or "remove it; `trimtab init` shows the keys that are usual",
    )


def _path_of(error: ErrorDetails, tree: Any, root: Place) -> str:
    """The user's path of an error whose location also names kinds and members of unions."""
    value, names = tree, list[str]()
    location = [str(part) for part in error["loc"]]
    for depth, part in enumerate(location):
        absent = error["type"] == "missing" and depth == len(location) - 1
        if isinstance(value, Mapping) and part not in value and not absent:
            shorthand = _short_for(part, ".".join(names), cast("Mapping[str, Any]", value), (tree, root))
            if shorthand is None:
                continue  # the kind of a group, or the name given to a single set
            part = shorthand
        if not isinstance(value, Mapping | list) or (isinstance(value, list) and not part.isdigit()):
            break  # a member of a union of plain values
        names.append(part)
        value = child(value, part)
    return ".".join(names)


def _short_for(field: str, path: str, group: Mapping[str, Any], whole: tuple[Any, Place]) -> str | None:
    """The key of this group that a field was filled from, where it is short for it."""
    tree, root = whole
    place = place_of(path, tree, root=root) if path else root
    model = place.model_for(group) if place is not None else None
    shorthands = model.shorthands.items() if model is not None else ()
    return next((name for name, fields in shorthands if field in fields and name in group), None)


_RANGE = {
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
    "finite_number",
    "int_parsing_size",
}
_WRONG_VALUE = _RANGE | {"literal_error", "enum"}
_REFUSED = ("key", "what", "got", "allowed", "fix")
"""What `settings.refused` says."""


def _translated(path: str, details: list[ErrorDetails], tree: Any, root: Place) -> Complaint | None:
    error = details[0]
    kind, value = error["type"], error.get("input")
    place = place_of(path, tree, root=root) if path else root
    match kind:
        case "extra_forbidden":
            return None  # found by _unknown_keys, which also looks below an error
        case "missing":
            allowed = describe(place) if place is not None else ""
            return Complaint(
                path=path, what="missing", got="nothing", allowed=allowed, fix=_how_to_add(path, place)
            )
        case "value_error":
            return _from_validator(path, str(error["msg"]).removeprefix("Value error, "), place)
        case "refused":
            key, what, got, allowed, fix = ((error.get("ctx") or {})[part] for part in _REFUSED)
            return Complaint(
                path=".".join(filter(None, (path, key))), what=what, got=got, allowed=allowed, fix=fix
            )
        case "union_tag_invalid":
            return _unknown_kind(path, place, error)
        case "union_tag_not_found":
            return Complaint(
                path=f"{path}.kind",
                what="missing",
                got="nothing",
                allowed=_kinds(place),
                fix="add `kind`",
            )
        case "too_short" | "too_long":
            if not value:
                return Complaint(
                    path=path, what="empty", got="no item", allowed="at least one", fix="add an item"
                )
            least = int((error.get("ctx") or {}).get("min_length", 0))
            if kind == "too_short" and len(cast("list[Any]", value)) >= least:
                return None  # its items are wrong, which is said of them
        case _:
            pass
    if place is not None and _is_truth_for_number(value, place):
        return None  # found by _unknown_keys
    what = "out of range" if kind in _RANGE else "unknown value" if kind in _WRONG_VALUE else "wrong type"
    return _wrong(path, what, value, place)


def _wrong(path: str, what: str, value: Any, place: Place | None) -> Complaint:
    allowed = describe(place) if place is not None else ""
    listed = allowed.replace(" or ", ", ").split(", ") if what == "unknown value" else list[str]()
    words = [word.strip(", ") for word in listed]
    fix = did_you_mean(nearest_words(str(value), words, cutoff=0.5)[:1])
    if place is not None and isinstance(value, str) and value in [kind_of(model) for model in place.models]:
        fix = f"write it as a group: `{{kind: {value}}}`"
    elif isinstance(value, str) and (named := f"{path.removesuffix('.kind')}.{value}") in BY_KIND:
        fix = BY_KIND[named]
    if place is not None and isinstance(value, Mapping) and place.item is not None and not place.named:
        fix = "begin each item with `- `"
    return Complaint(path=path, what=what, got=shown(value), allowed=allowed, fix=fix or _way_out(place))


def _way_out(place: Place | None) -> str:
    """What to do where no better advice is known."""
    default: Any = place.default if place is not None else None
    if default and isinstance(default, int | float | str | Duration):
        word = shown(default) if isinstance(default, bool) else default
        return f"use one of the allowed values, or leave it out for the default, {word}"
    return "use one of the allowed values"


def _how_to_add(path: str, place: Place | None) -> str:
    name = path.rpartition(".")[2]
    meaning = f": {place.meaning}" if place is not None and place.meaning else ""
    return f"add `{name}`{' '.join(meaning.split(chr(10)))}"


def _kinds(place: Place | None) -> str:
    return join_words([kind_of(model) for model in place.models], "or") if place is not None else ""


def _unknown_kind(path: str, place: Place | None, error: ErrorDetails) -> Complaint:
    tag = str((error.get("ctx") or {}).get("tag", ""))
    kinds = [kind_of(model) for model in place.models] if place is not None else []
    return Complaint(
        path=f"{path}.kind",
        what="unknown kind",
        got=shown(tag),
        allowed=join_words(kinds, "or"),
        fix=BY_KIND.get(f"{path}.{tag}", "")
        or BY_KIND.get(tag, "")
        or did_you_mean(nearest_words(tag, kinds, cutoff=0.5)[:1])
        or "write one of these",
    )


def _from_validator(path: str, message: str, place: Place | None) -> Complaint:
    """Messages of our own validators: `key: what`, or `got X; what is allowed`."""
    if match := re.match(r"^(\w+): (.*)$", message, re.DOTALL):
        path, message = f"{path}.{match[1]}" if path else match[1], match[2]
    if message.startswith("got ") and "; " in message:
        got, advice = message.removeprefix("got ").split("; ", 1)
        if advice.startswith(("say ", "write ")):
            allowed = describe(place) if place is not None else ""
            return Complaint(path=path, what="wrong value", got=got, allowed=allowed, fix=advice)
        allowed = re.sub(r"^allowed (is|are) ", "", advice)
        return Complaint(path=path, what="wrong value", got=got, allowed=allowed, fix=_way_out(place))
    return Complaint(path=path, what=message)
