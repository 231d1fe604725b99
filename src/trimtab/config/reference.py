"""Every key of a recipe with its meaning: the reference page, and the JSON Schema for editors."""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, cast

from trimtab.config.describe import describe
from trimtab.config.places import ROOT, Place, field_of, keys_of, kind_of, meanings
from trimtab.config.run import Recipe
from trimtab.config.settings import Settings
from trimtab.metrics.catalogue import LOSS, METRICS
from trimtab.units import Duration

REFERENCE_PAGE = "docs/recipe.md"

_HEAD = """\
# The recipe, key by key

Every key that a recipe may have, with what is allowed, the default and the meaning. `trimtab schema` prints the same
for editors, `trimtab init` a commented recipe to start from. A group with a `kind` has the keys of that kind. A length
is a number and its unit: `500 steps`, `3 epochs`, `2M tokens` (of the target side), `30 minutes` (or `30 seconds`, `8
hours`, `2 days`, which are read as minutes). Written from the settings by `python tools/write_pages.py`.
"""


def reference_page() -> str:
    """The page in Markdown: a section for each group of keys, in the order of the recipe."""
    return "\n".join([_HEAD, *_sections(ROOT, ""), *_metrics()]).rstrip() + "\n"


def _metrics() -> Iterator[str]:
    yield from ("## Metrics", "", "What `evaluate.metrics` and `evaluate.best.metric` may name.", "")
    yield from ("| metric | of | best | meaning |", "|---|---|---|---|")
    for metric in METRICS:
        of = "any model" if metric is LOSS else metric.measures.removeprefix("a metric of ")
        best = "lowest" if metric.lower_is_better else "highest"
        yield f"| `{metric.name}` | {of} | {best} | {_cell(metric.about)} |"


def _sections(place: Place, path: str) -> Iterator[str]:
    several = len(place.models) > 1
    for number, model in enumerate(place.models, 1):
        yield from _section(model, path, with_kind=several or "kind" in model.model_fields)
        for key in model.model_fields:
            below, rest = field_of(model, key), place.models[number:]
            # What several kinds have in common stands once, below the last of them.
            if (
                below is not None
                and key != "kind"
                and not any(_same(below, field_of(each, key)) for each in rest)
            ):
                yield from _below(below, f"{path}.{key}" if path else key)


def _same(place: Place, other: Place | None) -> bool:
    return other is not None and place == other and place.meaning == other.meaning


def _below(place: Place, path: str) -> Iterator[str]:
    if place.item is None:
        yield from _sections(place, path)
        return
    # A list of groups, or groups under names of the user's choice; both may be mixed with a single group.
    yield from _sections(place.item, f"{path}.NAME" if place.named else f"{path}[]")


def _section(model: type[Settings], path: str, *, with_kind: bool) -> Iterator[str]:
    name = f"`{path}`" if path else "The whole"
    kind = f", kind `{kind_of(model)}`" if path and with_kind else ""
    yield from (f"## {name}{kind}", "", one_line(inspect.getdoc(model) or ""), "")
    keys = [key for key in keys_of(model) if key != "kind"]
    if not keys:
        yield from ("No keys besides `kind`.", "")
        return
    yield from ("| key | allowed | default | meaning |", "|---|---|---|---|")
    for key in keys:
        place = field_of(model, key)
        if place is None:
            yield f"| `{key}` | a shorthand | | {_cell(_shorthand(model))} |"
        else:
            cells = (allowed_at(place), default_of(model, key, place), one_line(place.meaning))
            yield f"| `{key}` | " + " | ".join(_cell(each) for each in cells) + " |"
    yield ""


def allowed_at(place: Place) -> str:
    """What `describe` says, but for groups and lengths, which have their own lines on the page."""
    below = place.item or place
    if below.models:
        words = "one or several groups" if place.named else "a list of groups" if place.item else "a group"
        return words + (" or null" if type(None) in place.choices else "")
    return describe(place).replace(describe(Place(Duration)), "a length")


def default_of(model: type[Settings], key: str, place: Place) -> str:
    """As one would write it; empty if the key must be given or the default is filled in later."""
    if model.model_fields[key].is_required():
        return "must be given"
    # A default below what is allowed stands for what a preset fills in.
    if place.default == 0 and any(getattr(bound, "ge", 0) > 0 for bound in place.bounds):
        return "the preset's"
    return _written(place.default)


def _written(value: Any) -> str:
    if isinstance(value, Settings):
        kind = kind_of(type(value))
        return f"kind `{kind}`" if kind else "see below"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return f"`[{', '.join(_written(each).strip('`') for each in items)}]`"
    if isinstance(value, dict):
        return "`{}`"
    return f"`{value}`" if value != "" else "empty"


def _shorthand(model: type[Settings]) -> str:
    """The lines under `shorthands`, which say what each is short for."""
    source = inspect.getsource(model)
    after = source.split("shorthands", 1)[1].split('"""', 2)
    return one_line(after[1]) if len(after) > 1 else ""


def one_line(text: str) -> str:
    """The text without its line ends."""
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def recipe_schema() -> dict[str, Any]:
    """Draft 2020-12. It allows all that trimtab allows and a little more: checks across keys are not in it."""
    schema = Recipe.model_json_schema()
    _tell_meanings(schema)
    data = schema["$defs"]["DataConfig"]["properties"]
    data["valid"] = {
        "anyOf": [{"$ref": "#/$defs/ValidFiles"}, {"type": "object", **data["valid"]}],
        "description": data["valid"].pop("description"),
    }
    # `text` stands for both.
    for files in ("TrainCorpus", "ValidFiles"):
        sides = schema["$defs"][files].pop("required")
        schema["$defs"][files]["anyOf"] = [{"required": sides}, {"required": ["text"]}]
    model = schema["$defs"]["EncoderDecoderModel"]
    model["properties"]["layers"] = {
        "type": "integer",
        "minimum": 1,
        "description": "Encoder and decoder layers, where they are not given apart.",
    }
    return {"$schema": DIALECT, "$id": "urn:trimtab:recipe", **schema, "title": "trimtab recipe"}


def _tell_meanings(schema: dict[str, Any]) -> None:
    """Gives each property its description."""
    for model in _groups(ROOT):
        group = schema if model is Recipe else schema["$defs"][model.__name__]
        for key, meaning in meanings(model).items():
            if key in group["properties"]:
                group["properties"][key] = dict(
                    sorted({**group["properties"][key], "description": meaning}.items())
                )


def _groups(place: Place) -> Iterator[type[Settings]]:
    for model in place.models:
        yield model
        for key in model.model_fields:
            if (below := field_of(model, key)) is not None:
                yield from _groups(below.item or below)
