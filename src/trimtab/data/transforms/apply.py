"""Strings the transforms of a recipe together: a pair goes in, a pair or the reason for dropping it comes out."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, assert_never

from numpy.random import Generator

from trimtab.config.context import ContextTransform
from trimtab.config.corpus_filters import (
    CopyFilter,
    DuplicateFilter,
    LanguageFilter,
    LettersFilter,
    WordLengthFilter,
)
from trimtab.config.transforms import (
    CharacterRunFilter,
    DenoiseTransform,
    LengthFilter,
    NormalizeTransform,
    ProtectTransform,
    RatioFilter,
    Transform,
)
from trimtab.data.source_factors import rewritten, without_factors
from trimtab.data.transforms.filters import (
    has_character_run,
    has_few_letters,
    has_long_word,
    is_copy,
    is_outside_length,
    is_outside_ratio,
)
from trimtab.data.transforms.line_set import LineSet
from trimtab.data.transforms.protect import REASON, Protected, Protector, protector_of
from trimtab.data.transforms.restore import Restorer

EMPTY_SOURCE, EMPTY_TARGET = "empty_source", "empty_target"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pair that is not trained on, and why: `empty_source`, `empty_target`, or the kind of a filter."""

    reason: str


@dataclass(frozen=True, slots=True)
class TextStep:
    """Rewrites each side on its own; belongs to translation too."""

    rewrite: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FilterStep:
    """Drops pairs, in training only."""

    reason: str
    drops: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class LineStep:
    """Drops lines of one corpus that were found before the run, in training only."""

    reason: str
    lines: LineSet


@dataclass(frozen=True, slots=True)
class RandomStep:
    """Rewrites or drops a pair by chance, in training only."""

    rewrite: Callable[[str, str, Generator], tuple[str, str] | Dropped]


@dataclass(frozen=True, slots=True)
class ProtectStep:
    """Puts symbols for what is copied: in pairs for what both sides have, in translation for all of it."""

    protector: Protector
    exact: bool

    def pair(self, source: str, target: str) -> tuple[str, str] | Dropped:
        """The pair with symbols in it."""
        return self.protector.protect_pair(source, target) or Dropped(REASON)

    def rewrite(self, source: str) -> str:
        """The source of a translation with symbols in it."""
        return self.protector.protect(source).text


Step = TextStep | FilterStep | LineStep | RandomStep | ProtectStep
TextTransform = (
    NormalizeTransform
    | LengthFilter
    | RatioFilter
    | CharacterRunFilter
    | CopyFilter
    | LettersFilter
    | WordLengthFilter
    | ProtectTransform
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The transforms in the order of the recipe; built of plain functions, so workers can be handed a copy."""

    steps: tuple[Step, ...] = ()
    """Of pairs of which nothing else is known."""
    by_corpus: tuple["Pipeline", ...] = ()
    """That of each corpus, where some depend on which it is and on the line."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """What of it must not change when a run resumes, by name."""
    columns: int = 0
    """Source factors that are written behind each source word; filters do not see them, and what is rewritten keeps
    them."""

    def of(self, corpus: int) -> "Pipeline":
        """What is done to the pairs of a corpus, by its number."""
        return self.by_corpus[corpus] if self.by_corpus else self

    def without(self, *kinds: type[Step]) -> "Pipeline":
        """The same without steps of these kinds."""
        return replace(
            self,
            steps=tuple(step for step in self.steps if not isinstance(step, kinds)),
            by_corpus=tuple(each.without(*kinds) for each in self.by_corpus),
        )

    @property
    def needs_random(self) -> bool:
        """Whether `apply` must be given a random generator; where it need not, none should be made for each pair."""
        return any(isinstance(step, RandomStep) for step in self.steps)

    def apply(
        self, source: str, target: str, rng: Generator | None = None, line: int | None = None
    ) -> tuple[str, str] | Dropped:
        """The pair after all transforms; a pair with an empty side is dropped, whatever the recipe says. `line` is its
        number in the corpus, from 0, for steps that depend on it; they are left out without it."""
        for step in self.steps:
            if isinstance(step, TextStep):
                source, target = self._rewritten(step, source), step.rewrite(target)
            elif isinstance(step, FilterStep):
                if step.drops(without_factors(source, self.columns), target):
                    # What is empty is called so, whichever filter sees it first.
                    return _empty(source, target) or Dropped(step.reason)
            elif isinstance(step, LineStep):
                if line is not None and line in step.lines:
                    return _empty(source, target) or Dropped(step.reason)
            else:
                if isinstance(step, ProtectStep):
                    pair = step.pair(source, target)
                else:
                    assert rng is not None, "this pipeline needs a random generator"
                    pair = step.rewrite(source, target, rng)
                if isinstance(pair, Dropped):
                    return pair
                source, target = pair
        return _empty(source, target) or (source, target)

    def apply_source(self, source: str) -> str:
        """What also belongs to translation: the steps that rewrite one side, no filters, nothing random."""
        for step in self.steps:
            if isinstance(step, TextStep | ProtectStep):
                source = self._rewritten(step, source)
        return source

    def _rewritten(self, step: TextStep | ProtectStep, source: str) -> str:
        return rewritten(source, self.columns, step.rewrite) if self.columns else step.rewrite(source)

    def apply_reference(self, source: str, target: str) -> str:
        """The target as the model should write it where the source is read as `apply_source` gives it: with the same
        symbols for what is copied, otherwise as it is."""
        for step in self.steps:
            if isinstance(step, ProtectStep):
                target = step.protector.protect_reference(source, target)
            elif isinstance(step, TextStep):
                source = self._rewritten(step, source)
        return target

    @property
    def of_translation(self) -> "Pipeline":
        """The steps that translation has too."""
        return Pipeline(tuple(step for step in self.steps if isinstance(step, TextStep | ProtectStep)))

    def restorer(self) -> Restorer | None:
        """What puts back into translations what was protected; None if nothing is."""
        for place, step in enumerate(self.steps):
            if isinstance(step, ProtectStep):
                before = Pipeline(self.steps[:place])
                return Restorer(step.protector, partial(_protected, before, step.protector), step.exact)
        return None


def build_transforms(configs: Sequence[Transform], *, columns: int = 0) -> Pipeline:
    """The pipeline of the configured transforms, in their order, for sources with so many factors behind each word.

    `denoise` is not among them: it is for the sources of some corpora only, and corrupts them when they are ids.
    Neither is `context`, which knows more than the pair, nor are `duplicate` and `language`, which ask for the corpus:
    see `plan.plan_transforms`."""
    elsewhere = (DenoiseTransform, ContextTransform, DuplicateFilter, LanguageFilter)
    steps = tuple(build_step(config) for config in configs if not isinstance(config, elsewhere))
    return Pipeline(steps, columns=columns)


def build_step(config: TextTransform) -> Step:
    """What a transform does that needs no more than the pair."""
    match config:
        case NormalizeTransform():
            return TextStep(partial(normalize, form=config.form))
        case LengthFilter():
            return FilterStep(
                config.kind, partial(is_outside_length, unit=config.unit, least=config.min, most=config.max)
            )
        case RatioFilter():
            return FilterStep(
                config.kind, partial(is_outside_ratio, most=config.max, min_characters=config.min_characters)
            )
        case CharacterRunFilter():
            return FilterStep(config.kind, partial(has_character_run, most=config.max))
        case CopyFilter():
            return FilterStep(
                config.kind,
                partial(is_copy, similarity=config.similarity, min_characters=config.min_characters),
            )
        case LettersFilter():
            return FilterStep(config.kind, partial(has_few_letters, least=config.min))
        case WordLengthFilter():
            return FilterStep(config.kind, partial(has_long_word, most=config.max))
        case ProtectTransform():
            return ProtectStep(protector_of(config), config.exact)
        case _:
            assert_never(config)


def _protected(before: Pipeline, protector: Protector, line: str) -> Protected:
    return protector.protect(before.apply_source(line))


def _empty(source: str, target: str) -> Dropped | None:
    if not source or source.isspace():
        return Dropped(EMPTY_SOURCE)
    if not target or target.isspace():
        return Dropped(EMPTY_TARGET)
    return None


# Category Cc without those that count as white space, which become a space instead.
_CONTROLS = {
    code: None for code in range(0xA0) if unicodedata.category(chr(code)) == "Cc" and not chr(code).isspace()
}


def normalize(text: str, *, form: Literal["nfc", "nfkc", "none"]) -> str:
    """The text in a Unicode form, without control characters, white space joined to single spaces and stripped.

    Source: Unicode Standard Annex 15 for the forms.
    """
    is_plain = text.isprintable()  # so its only white space is the space
    if not is_plain:
        text = text.translate(_CONTROLS)
    if form != "none" and not text.isascii():
        text = unicodedata.normalize("NFC" if form == "nfc" else "NFKC", text)
    if is_plain and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())
