"""A translation model for many directions, whose stacks are composed of shared and own components."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, model_validator

from trimtab.config.language_codes import plain_code
from trimtab.config.language_layers import MOST_LAYERS, LayersByLanguage, expand_language_layers
from trimtab.config.model import ENCODER_DECODER_PRESETS, EncoderDecoderModel
from trimtab.config.presets import filled_from_preset
from trimtab.config.settings import Settings, refused

NAME = r"[A-Za-z_][A-Za-z0-9_+-]*"
REFERENCE = re.compile(rf"({NAME})(?:\.([0-9]{{1,999}})(?:-([0-9]{{1,999}}))?)?")
WORD = re.compile(r"[A-Za-z0-9_+]+(?:[A-Za-z0-9_+-]*[A-Za-z0-9_+])?")
"""What a direction or a language is called: commands write `RUN#en-de`, `de-en/en-pt` and `de:pt`."""
Side = Literal["encoder", "decoder"]
SIDES: tuple[Side, ...] = ("encoder", "decoder")


@dataclass(frozen=True, slots=True)
class Layers:
    """A run of layers of a component, from `first` up to but without `stop`, counted from 0."""

    component: str
    first: int
    stop: int

    @property
    def numbers(self) -> range:
        """Their numbers in the component."""
        return range(self.first, self.stop)


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a sentence through a modular model."""

    source: str
    """Language that is read."""
    target: str
    """Language that is written."""
    encoder: tuple[Layers, ...]
    decoder: tuple[Layers, ...]

    @property
    def components(self) -> tuple[str, ...]:
        """What it runs through, as `encoder.shared` and `decoder.de`, each once and in order."""
        sides = (("encoder", self.encoder), ("decoder", self.decoder))
        return tuple(dict.fromkeys(f"{side}.{part.component}" for side, parts in sides for part in parts))


class Direction(Settings):
    """A translation direction: its languages, and the components that its encoder and its decoder are made of."""

    source: str = ""
    """Language that is read; by default the first half of the direction's name, `en` of `en-de`."""
    target: str = ""
    """Language that is written; by default the second half of the direction's name."""
    encoder: tuple[str, ...] = Field(min_length=1)
    """Components of the encoder, first to last: `[shared, de]`, or a range of layers, `[shared.0-5, de]`, counted from
    0 with both ends included."""
    decoder: tuple[str, ...] = Field(min_length=1)
    """Components of the decoder in their order."""
    tags: tuple[str, ...] = ()
    """Symbols put before each source line of corpora and validation sets of this direction that have no `tags` of their
    own; needed where a decoder is shared by several languages."""


class ModularModel(EncoderDecoderModel):
    """A transformer encoder-decoder for many translation directions, each with its own path through shared and own
    components (Mammoth, Mickus et al. 2024, arXiv 2403.07544; language-specific layers, arXiv 2305.02665)."""

    shorthands: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    kind: Literal["modular"] = "modular"  # pyright: ignore[reportIncompatibleVariableOverride]
    encoder_layers: int = Field(default=0, ge=1, le=MOST_LAYERS)
    """Layers of the deepest encoder of any direction; computed from `directions`, so do not set it."""
    decoder_layers: int = Field(default=0, ge=1, le=MOST_LAYERS)
    """Layers of the deepest decoder of any direction; computed from `directions`, so do not set it."""
    encoder_components: dict[str, int] = Field(min_length=1)
    """The components of the encoders, each with its number of layers: `{shared: 6, de: 2}`."""
    decoder_components: dict[str, int] = Field(min_length=1)
    """The components of the decoders, each with its number of layers; they share nothing with those of the encoders of
    the same name."""
    directions: dict[str, Direction] = Field(min_length=1)
    """The translation directions by name, such as `en-de`. Each corpus of `data.train` names its `direction`."""
    embeddings: Literal["shared", "language"] = "shared"
    """One set of embeddings for all languages, or one for each. The vocabulary is shared in any case, and
    `tie_embeddings` says which matrices of a set are one."""
    language_layers: LayersByLanguage | None = None
    """Language-specific layers that replace shared ones: `{encoder: {source: 1, target: 2}}` makes the lowest layer of
    the component `shared` specific to the source language, and its two highest layers specific to the target language.
    The resolved recipe lists them as components of their own, such as `shared_from_en` and `shared_to_de`."""
    mean_over: Literal["step", "component"] = "step"
    """What the gradient of a component is divided by: all targets of the step, so that the whole gradient is that of
    the mean loss; or the targets of the directions that use the component, so that rarely used components have
    gradients of the same size as others."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = expand_language_layers(cast("Mapping[str, Any]", value))
        for side in SIDES:
            key = f"{side}_layers"
            depth = _deepest(given, side)
            written = given.get(key)
            if written is not None and depth and written != depth:
                raise refused(
                    key,
                    "the depth of a modular model follows from the components of its directions",
                    got=str(written),
                    allowed=f"nothing; the deepest {side} here has {depth}",
                    fix=f"remove it, and write the layers of each component in `model.{side}_components`",
                )
            # Where they are not known, components or directions are wrong, which their own fields say.
            given[key] = min(max(depth, 1), MOST_LAYERS)
        return filled_from_preset(given, ENCODER_DECODER_PRESETS)

    @model_validator(mode="after")
    def _directions_fit(self) -> "ModularModel":
        for name, direction in self.directions.items():
            for side in SIDES:
                self._check_stack(name, direction, side)
            self._check_languages(name)
        for side in SIDES:
            self._check_all_used(side)
        self._check_spelling()
        if self.language_layers is not None:
            raise refused(
                "language_layers",
                "cannot be put into the stacks of the directions",
                got=str(self.language_layers.model_dump(exclude_none=True)),
                allowed="layers of `encoder` and `decoder`, beside components with numbers of layers",
                fix="write `language_layers: {encoder: {source: 1, target: 2}}`",
            )
        if self.experts is not None:
            raise refused(
                "experts",
                "modular models do not support a mixture of experts",
                got=f"count: {self.experts.count}",
                allowed="null",
                fix="remove it",
            )
        if self.absolute_fade is not None:
            raise refused(
                "absolute_fade",
                "modular models do not support fading positions, which all directions share",
                got=str(self.absolute_fade),
                allowed="nothing",
                fix="remove it",
            )
        if self.registers:
            raise refused(
                "registers",
                "modular models do not support registers",
                got=str(self.registers),
                allowed="0",
                fix="remove it",
            )
        if self.encoder_mix != "last":
            raise refused(
                "encoder_mix",
                "the encoders of a modular model differ in depth, so a decoder cannot combine their layers",
                got=self.encoder_mix,
                allowed="last",
                fix="remove it",
            )
        return self

    def languages(self, direction: str) -> tuple[str, str]:
        """What a direction reads and what it writes."""
        found = self.directions[direction]
        source, _, target = direction.partition("-")
        return found.source or source, found.target or target

    def layers(self, direction: str, side: Side) -> tuple[Layers, ...]:
        """The components of a direction on one side, as runs of layers."""
        return tuple(
            self.referred(each, side=side)
            for each in (
                self.directions[direction].encoder
                if side == "encoder"
                else self.directions[direction].decoder
            )
        )

    def route(self, direction: str) -> Route:
        """The way of a direction through the model."""
        source, target = self.languages(direction)
        return Route(source, target, self.layers(direction, "encoder"), self.layers(direction, "decoder"))

    @property
    def all_languages(self) -> tuple[str, ...]:
        """Every language that is read or written, in the order of the directions."""
        return tuple(dict.fromkeys(each for name in self.directions for each in self.languages(name)))

    def tables(self, language: str) -> str:
        """The name of the embeddings of a language."""
        return language if self.embeddings == "language" else "shared"

    def plain(self, route: Route) -> EncoderDecoderModel:
        """The settings of the translator that a route is by itself."""
        same = {
            name: getattr(self, name)
            for name in EncoderDecoderModel.model_fields
            if name
            not in (
                "kind",
                "preset",
                "warm_start",
                "warm_start_sha256",
                "warm_start_positions",
                "absolute_fade",
            )
        }
        tied = self.tie_embeddings
        if tied == "all" and self.tables(route.source) != self.tables(route.target):
            tied = "decoder"
        depths = {
            f"{side}_layers": sum(len(part.numbers) for part in parts)
            for side, parts in (("encoder", route.encoder), ("decoder", route.decoder))
        }
        return EncoderDecoderModel.model_validate({**same, **depths, "tie_embeddings": tied})

    def components(self, side: Side) -> dict[str, int]:
        """The components of a side, each with its number of layers."""
        return self.encoder_components if side == "encoder" else self.decoder_components

    def referred(self, text: str, *, side: Side) -> Layers:
        """`shared`, `shared.0-5` or `shared.3` as layers. Raises a refusal where there are no such layers."""
        known = self.components(side)
        match = REFERENCE.fullmatch(text)
        name = match[1] if match else text.partition(".")[0]
        if match is None or name not in known:
            raise refused(
                f"{side}_components",
                f"the {side} has no component {text!r}",
                got=text,
                allowed=", ".join(known),
                fix=f"write `{near[0]}`"
                if (near := get_close_matches(name, list(known), n=1))
                else f"add it to `model.{side}_components` with its number of layers",
            )
        count = known[name]
        if match[2] is None:
            return Layers(name, 0, count)
        first, last = int(match[2]), int(match[3] or match[2])
        if not first <= last < count:
            raise refused(
                f"{side}_components",
                f"component {name} of the {side} has no layers {text.partition('.')[2]}",
                got=text,
                allowed=f"layers 0 to {count - 1}, the first before the last",
                fix=f"write `{name}.0-{count - 1}`, or raise `model.{side}_components.{name}`",
            )
        return Layers(name, first, last + 1)

    def _check_stack(self, name: str, direction: Direction, side: Side) -> None:
        for component, count in self.components(side).items():
            if re.fullmatch(NAME, component) is None or not 1 <= count <= MOST_LAYERS:
                raise refused(
                    f"{side}_components",
                    "a component is a name with its number of layers",
                    got=f"{component}: {count}",
                    allowed=f"letters, digits, `_`, `+` and `-`, with 1 to {MOST_LAYERS} layers",
                    fix=f"write `{side}_components: {{shared: 6}}`",
                )
        seen: set[tuple[str, int]] = set()
        for part in self.layers(name, side):
            own = {(part.component, number) for number in part.numbers}
            if twice := sorted(own & seen):
                raise refused(
                    "directions",
                    f"the {side} of {name} has layer {twice[0][1]} of {twice[0][0]} twice",
                    got=f"[{', '.join(direction.encoder if side == 'encoder' else direction.decoder)}]",
                    allowed="each layer once",
                    fix="remove one of the two, or give the component another range",
                )
            seen |= own
        if len(seen) > MOST_LAYERS:
            raise refused(
                "directions",
                f"the {side} of {name} is too deep",
                got=f"{len(seen)} layers",
                allowed=f"at most {MOST_LAYERS}",
                fix=f"lower the numbers of layers in `model.{side}_components`, or name fewer of them",
            )

    def _check_languages(self, name: str) -> None:
        source, target = self.languages(name)
        if not source or not target or (name.count("-") != 1 and "" in self._written(name)):
            first, _, last = name.rpartition("-")
            raise refused(
                "directions",
                f"the name of the direction {name} does not say its languages",
                got=name,
                allowed="a name such as en-de, or `source` and `target` in the direction",
                fix=f"write `{name}: {{source: {first or 'en'}, target: {last or 'de'}, ...}}` with its languages",
            )
        for what, word in (("direction", name), ("language", source), ("language", target)):
            if WORD.fullmatch(word) is None:
                raise refused(
                    "directions",
                    f"a {what} cannot be called {word!r}",
                    got=word if what == "direction" else f"{word} in {name}",
                    allowed="letters from A to Z, digits, `_`, `+`, and `-` between them",
                    fix="write a code such as en, pt-BR or zh-Hans"
                    if what == "language"
                    else f"write `{source}-{target}`, or another name of such letters",
                )

    def _written(self, name: str) -> tuple[str, str]:
        return self.directions[name].source, self.directions[name].target

    def _check_all_used(self, side: Side) -> None:
        used = {
            (part.component, number)
            for name in self.directions
            for part in self.layers(name, side)
            for number in part.numbers
        }
        for component, count in self.components(side).items():
            idle = [number for number in range(count) if (component, number) not in used]
            if not idle:
                continue
            whole = len(idle) == count
            raise refused(
                f"{side}_components",
                f"no direction uses {'' if whole else 'all layers of '}the component {component} of the {side}, so "
                "that no gradient would reach it",
                got=f"{component}: {count}" if whole else f"layers {', '.join(map(str, idle))} of {count}",
                allowed=f"components that a direction names in its `{side}`",
                fix="remove it, or name it in a direction"
                if whole
                else "lower its number of layers, or use them",
            )

    def _check_spelling(self) -> None:
        """Two names of one language would give it two sets of embeddings, and count its directions apart."""
        first: dict[str, tuple[str, str]] = {}
        for name in self.directions:
            for language in self.languages(name):
                other, where = first.setdefault(plain_code(language), (language, name))
                if other != language:
                    raise refused(
                        "directions",
                        f"{where} and {name} name one language differently",
                        got=f"{other} in {where}, {language} in {name}",
                        allowed="one name for each language",
                        fix=f"write {other} in both",
                    )


def _deepest(given: Mapping[str, Any], side: Side) -> int:
    """Layers of the deepest stack of a side; 0 where what is written does not say it."""
    components, directions = given.get(f"{side}_components"), given.get("directions")
    if not isinstance(components, Mapping) or not isinstance(directions, Mapping):
        return 0
    known = cast("Mapping[str, Any]", components)
    depths = [0]
    for direction in cast("Mapping[str, Any]", directions).values():
        if isinstance(direction, Direction):
            stack: Any = getattr(direction, side)
        elif isinstance(direction, Mapping):
            stack = cast("Mapping[str, Any]", direction).get(side)
        else:
            continue
        if isinstance(stack, list | tuple):
            depths.append(sum(_count(each, known) for each in cast("list[Any]", stack)))
    return max(depths)


def _count(reference: Any, components: Mapping[str, Any]) -> int:
    match = REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        return 0
    if match[2] is not None:
        return max(0, int(match[3] or match[2]) - int(match[2]) + 1)
    count = components.get(match[1])
    return count if isinstance(count, int) else 0
