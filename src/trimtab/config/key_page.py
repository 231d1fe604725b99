"""What a recipe key means, as `trimtab explain step.clip.at` shows it: meaning, allowed values, default, keys below."""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.config.nearest import nearest_words
from trimtab.config.places import ROOT, Place, field_of, keys_of, kind_of, known_keys
from trimtab.config.reference import REFERENCE_PAGE, allowed_at, default_of, one_line
from trimtab.config.resets import needed_for
from trimtab.config.run import Recipe
from trimtab.config.settings import Settings

_DOTTED = re.compile(r"[a-z_0-9]+(?:\[\])?(?:\.[a-z_0-9A-Z]+(?:\[\])?)+")
_NUMBER_OR_NAME = re.compile(r"[0-9]+|NAME")


@dataclass(frozen=True, slots=True)
class _Found:
    """A key in one of the groups that may be written there."""

    kind: str
    """The `kind` of the group, empty where there is one."""
    model: type[Settings]
    key: str
    place: Place


def is_key(text: str) -> bool:
    """Whether a text is meant as a key of the recipe: words with dots between them, the first a key at the top; or a
    key at the top that has a value of its own, such as `length`."""
    if text in Recipe.model_fields:
        return not list(_keys_below(list(_found(ROOT, [text]))))
    return bool(_DOTTED.fullmatch(text)) and text.partition(".")[0].removesuffix("[]") in Recipe.model_fields


def key_lines(key: str) -> list[str]:
    """The page of a key in Markdown, without what else is known about it; empty if there is no such key."""
    parts = _parts(key)
    found = list(_found(ROOT, parts))
    written = next((each for each in known_keys() if _parts(each) == parts), key)
    return [f"# {written}", "", *_page(found, written)] if found else []


def near_keys(key: str) -> list[str]:
    """Keys that a misspelled one may mean."""
    return nearest_words(".".join(_parts(key)), list(known_keys()), cutoff=0.6)[:2]


def keys_called(word: str) -> list[str]:
    """The keys whose last part is this word."""
    wanted = word.strip().lower().replace("-", "_").replace(" ", "_")
    return [key for key in known_keys() if key == wanted or key.endswith(f".{wanted}")]


def _parts(key: str) -> list[str]:
    """The names of the path; items of lists have no numbers."""
    names = [part.removesuffix("[]") for part in key.split(".")]
    return [name for name in names if not _NUMBER_OR_NAME.fullmatch(name)]


def _found(place: Place, parts: Sequence[str]) -> Iterator[_Found]:
    if place.item is not None:
        found = list(_found(place.item, parts))
        if not found and place.named and len(parts) > 1:  # after a name of the user's choice
            found = list(_found(place.item, parts[1:]))
        yield from found
    several = len(place.models) > 1
    for model in place.models:
        names = model.shorthands.get(parts[0], (parts[0],))
        below = field_of(model, names[0])
        if below is None:
            continue
        if len(parts) == 1:
            yield _Found(kind_of(model) if several else "", model, names[0], below)
        else:
            yield from _found(below, parts[1:])


def _page(found: Sequence[_Found], key: str) -> Iterator[str]:
    if found[0].key == "kind":
        for each in found:
            about = one_line(inspect.getdoc(each.model) or "")
            yield f"- `{kind_of(each.model)}`: {about}"
        yield ""
    else:
        yield from _meanings(found)
    if below := _keys_below(found):
        yield from (f"Keys below it: {', '.join(below)}.", "")
    needed = needed_for(f"recipe.{key}")
    yield {
        "nothing": "A run that resumes may change it.",
        "another run": "A run that resumes cannot change it.",
    }.get(needed, f"A run that resumes may change it with `--resume --reset {needed}`.")
    yield f"On the command line: `trimtab train RECIPE {key}=VALUE`. All keys: `{REFERENCE_PAGE}`."


def _meanings(found: Sequence[_Found]) -> Iterator[str]:
    """What the key means, once for all kinds of groups in which it means the same."""
    meanings: dict[str, dict[tuple[str, str], list[str]]] = {}
    for each in found:
        facts = allowed_at(each.place), default_of(each.model, each.key, each.place)
        meanings.setdefault(one_line(each.place.meaning), {}).setdefault(facts, []).append(each.kind)
    for meaning, by_facts in meanings.items():
        yield from (meaning, "")
        for (allowed, default), kinds in by_facts.items():
            whose = f" ({', '.join(kinds)})" if any(kinds) else ""
            yield from (f"- allowed{whose}: {allowed}", f"- default{whose}: {default}")
        yield ""


def _keys_below(found: Sequence[_Found]) -> list[str]:
    models = [model for each in found for model in (each.place.item or each.place).models]
    return [f"`{key}`" for key in dict.fromkeys(key for model in models for key in keys_of(model))]
