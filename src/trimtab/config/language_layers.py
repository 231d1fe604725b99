"""Language-specific layers of a modular model, written as the components that they are."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from trimtab.config.settings import Settings, refused

MOST_LAYERS = 1000
"""Of a component, and of a stack."""
LanguageSide = Literal["source", "target"]
"""Whose language a layer follows."""
Number = Annotated[int, Field(ge=0, strict=True)]
PREPOSITIONS = {"source": "from", "target": "to"}
"""How components are named: `shared_from_de` has the layers of sentences in German, `shared_to_de` those of
translations into it."""


class LanguageLayers(Settings):
    """Layers of a component of which each language has its own (LSL, Pires et al. 2023, arXiv 2305.02665). They
    replace shared ones, so a sentence passes through as many layers as before."""

    component: str = "shared"
    """The component whose layers they replace. Directions still name this component."""
    source: Number | tuple[Number, ...] = 0
    """Layers by source language: their numbers from 0, or how many of the lowest layers."""
    target: Number | tuple[Number, ...] = 0
    """Layers by target language: their numbers from 0, or how many of the highest layers."""


class LayersByLanguage(Settings):
    """The language-specific layers of each side."""

    encoder: LanguageLayers | None = Field(default=None)
    """Those of encoders. In the paper, layers by source language help low in the encoder, those by target language
    high."""
    decoder: LanguageLayers | None = Field(default=None)
    """Those of decoders."""


def expand_language_layers(given: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a modular model with its language-specific layers as components of their own. Values
    that are not valid, such as a component that is not a number, are left to the validation of their own field. Raises
    a validation error for layers that the component does not have, and for more than it has."""
    tree = dict(given)
    wanted, directions = tree.get("language_layers"), tree.get("directions")
    if isinstance(wanted, LayersByLanguage):
        wanted = wanted.model_dump()
    if not isinstance(wanted, Mapping) or not isinstance(directions, Mapping):
        return tree
    sides = cast("Mapping[str, Any]", wanted)
    if any(side not in ("encoder", "decoder") or not _readable(each) for side, each in sides.items()):
        return tree
    written = {name: _plain(each) for name, each in cast("Mapping[str, Any]", directions).items()}
    if any(not isinstance(each, dict) for each in written.values()):
        return tree
    for side, each in sides.items():
        components = tree.get(f"{side}_components")
        if not each:
            continue
        settings = LanguageLayers.model_validate(each)
        if not isinstance(components, Mapping):
            return tree
        count: Any = cast("Mapping[str, Any]", components).get(settings.component)
        if count is not None and not (_count(count) and 1 <= count <= MOST_LAYERS):
            return tree
        counts = dict(cast("Mapping[str, Any]", components))
        tree[f"{side}_components"] = _in_stacks(counts, written, settings, side)
    tree["directions"], tree["language_layers"] = written, None
    return tree


def _readable(each: Any) -> bool:
    """Whether a side is None or has the types of `LanguageLayers`."""
    if each is None:
        return True
    if not isinstance(each, Mapping):
        return False
    found = cast("Mapping[str, Any]", each)
    return found.keys() <= LanguageLayers.model_fields.keys() and all(
        isinstance(value, str)
        if key == "component"
        else _count(value) or (isinstance(value, list | tuple) and all(map(_count, cast("list[Any]", value))))
        for key, value in found.items()
    )


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plain(direction: Any) -> Any:
    if isinstance(direction, Settings):
        return direction.model_dump()
    return dict(cast("Mapping[str, Any]", direction)) if isinstance(direction, Mapping) else direction


def _in_stacks(
    counts: dict[str, Any], directions: dict[str, Any], settings: LanguageLayers, side: str
) -> dict[str, Any]:
    """The components of a side with those of the languages, which replace layers in the stacks of the directions."""
    component, count = settings.component, counts.get(settings.component)
    if not isinstance(count, int):
        raise refused(
            "language_layers",
            f"the {side} has no component {component!r}",
            got=component,
            allowed=", ".join(counts) or "none",
            fix=f"name one of `model.{side}_components`",
        )
    owners = _owners(settings, count, side)
    shared = [number for number in range(count) if number not in owners]
    own: dict[str, int] = {}
    for name, direction in directions.items():
        source, _, target = name.partition("-")
        language = {"source": direction.get("source") or source, "target": direction.get("target") or target}
        stack = direction.get(side)
        if not isinstance(stack, list | tuple):
            continue
        places: list[tuple[str, int]] = []
        for reference in cast("list[Any]", stack):
            for number in _numbers(str(reference), component, count):
                if number is None:
                    places.append((str(reference), -1))
                elif number in owners:
                    language_side, place = owners[number]
                    part = f"{component}_{PREPOSITIONS[language_side]}_{language[language_side]}"
                    own[part] = sum(each == language_side for each, _ in owners.values())
                    places.append((part, place))
                else:
                    places.append((component, shared.index(number)))
        direction[side] = list(_runs(places))
    if taken := own.keys() & counts.keys():
        raise refused(
            "language_layers",
            f"a component of the {side} has the name of language-specific layers",
            got=", ".join(sorted(taken)),
            allowed="names without `_from_` and `_to_`",
            fix="rename the component",
        )
    kept = {name: each for name, each in counts.items() if name != component}
    return {**({component: len(shared)} if shared else {}), **kept, **own}


def _owners(settings: LanguageLayers, count: int, side: str) -> dict[int, tuple[LanguageSide, int]]:
    """For each layer that is not shared: the side whose language it follows, and its index among the layers of that
    side."""
    source, target = (
        min(each, count + 1) if isinstance(each, int) else each for each in (settings.source, settings.target)
    )
    lowest = range(source) if isinstance(source, int) else source
    highest = range(max(0, count - target), count) if isinstance(target, int) else target
    found: dict[int, tuple[LanguageSide, int]] = {}
    both = [*lowest, *highest]
    if (
        target == count + 1
        or len(both) > count
        or len(set(both)) < len(both)
        or any(not 0 <= each < count for each in both)
    ):
        raise refused(
            "language_layers",
            f"component {settings.component} of the {side} has {count} layers, which shared and language-specific "
            "ones divide among them",
            got=f"source: {settings.source}, target: {settings.target}",
            allowed=f"together at most {count} different layers, from 0 to {count - 1}",
            fix=f"lower them, or raise `model.{side}_components.{settings.component}`",
        )
    layers: tuple[tuple[LanguageSide, Any], ...] = (("source", lowest), ("target", highest))
    for language_side, numbers in layers:
        found |= {number: (language_side, place) for place, number in enumerate(sorted(numbers))}
    return found


def _numbers(reference: str, component: str, count: int) -> Iterator[int | None]:
    """The layers of a component that a reference names; None for another component, and for what is no range of it."""
    name, dot, layers = reference.partition(".")
    first, hyphen, last = layers.partition("-")
    if name != component or (dot and not (first.isdecimal() and (last.isdecimal() or not hyphen))):
        yield None
        return
    stop = int(last or first) + 1 if dot else count
    if stop > count:
        yield None
        return
    yield from range(int(first) if dot else 0, stop)


def _runs(places: list[tuple[str, int]]) -> Iterator[str]:
    """Neighbouring layers of one component as one reference."""
    begun: list[tuple[str, int, int]] = []
    for name, number in places:
        if begun and number > 0 and begun[-1][0] == name and begun[-1][2] == number - 1:
            begun[-1] = (name, begun[-1][1], number)
        else:
            begun.append((name, number, number))
    for name, first, last in begun:
        yield name if first < 0 else f"{name}.{first}-{last}" if last > first else f"{name}.{first}"
