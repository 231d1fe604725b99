"""What is done to each pair before it becomes ids, one class a kind."""

import re
from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.config.context import ContextTransform
from trimtab.config.corpora import TrainCorpus
from trimtab.config.corpus_filters import (
    CopyFilter,
    DuplicateFilter,
    LanguageFilter,
    LettersFilter,
    WordLengthFilter,
)
from trimtab.config.settings import Settings


class NormalizeTransform(Settings):
    """Applies a Unicode form, collapses and strips white space, and removes control characters."""

    kind: Literal["normalize"] = "normalize"
    form: Literal["nfc", "nfkc", "none"] = "nfc"
    """The Unicode form; nfkc also maps full-width letters and ligatures to plain ones."""


class LengthFilter(Settings):
    """Drops pairs with a side outside a range of words or characters."""

    kind: Literal["length"] = "length"
    unit: Literal["words", "characters"] = "words"
    """What to count: words separated by spaces, or characters."""
    min: int = Field(default=1, ge=0)
    """Minimum length of a side."""
    max: int = Field(default=200, ge=1)
    """Maximum length of a side."""

    @model_validator(mode="after")
    def _ordered(self) -> "LengthFilter":
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, greater than max, {self.max}")
        return self


class RatioFilter(Settings):
    """Drops pairs whose longer side has more than `max` times the characters of the shorter one."""

    kind: Literal["ratio"] = "ratio"
    max: float = Field(default=4.0, gt=1.0)
    """Maximum ratio."""
    min_characters: int = Field(default=20, ge=0)
    """Pairs with no side longer than this are kept, because the ratio of short strings varies."""


class CharacterRunFilter(Settings):
    """Drops pairs in which one character repeats more than `max` times in a row."""

    kind: Literal["character_run"] = "character_run"
    max: int = Field(default=16, ge=1)
    """Maximum run length."""


class DenoiseTransform(Settings):
    """Corrupts sources after tokenization, in training only, so that the model learns to restore the text. The default
    is the infilling of BART (Lewis et al. 2020, arXiv 1910.13461)."""

    kind: Literal["denoise"] = "denoise"
    only: tuple[str, ...] = ()
    """The `name`s of the corpora whose sources are corrupted; by default all that are given as `text`."""
    unit: Literal["words", "pieces"] = "words"
    """The unit to remove or move: words separated by spaces, or pieces, for languages without spaces."""
    infill: float = Field(default=0.3, ge=0, le=1)
    """Share of words removed in spans; one `<mask>` replaces each span."""
    mean_span: float = Field(default=3.0, ge=1, le=100)
    """Mean length of these spans, which is Poisson distributed; an empty span only inserts a `<mask>`."""
    mask: float = Field(default=0.0, ge=0, le=1)
    """Share of words replaced by one `<mask>` each."""
    delete: float = Field(default=0.0, ge=0, le=1)
    """Share of words deleted; at least one word stays. 0.1 is usual (Lample et al. 2018, arXiv 1711.00043)."""
    shuffle: int = Field(default=0, ge=0, le=1000)
    """Maximum distance that a word moves; 0 moves none. 3 is usual (arXiv 1711.00043)."""

    @model_validator(mode="after")
    def _does_something(self) -> "DenoiseTransform":
        if not (self.masks or self.delete or self.shuffle):
            raise ValueError("nothing is corrupted: infill, mask, delete and shuffle are all 0")
        return self

    @property
    def masks(self) -> bool:
        """Whether it needs the symbol `<mask>`."""
        return bool(self.infill or self.mask)

    def is_for(self, corpus: TrainCorpus) -> bool:
        """Whether the sources of a corpus are corrupted."""
        return corpus.name in self.only if self.only else corpus.text is not None


ProtectedKind = Literal["url", "email", "tag", "placeholder", "number"]


class ProtectTransform(Settings):
    """Protects text that must be copied: in a pair, each text that matches a pattern on both sides becomes a symbol
    `<ph0>`, `<ph1>` ... of the vocabulary; in a translation, the texts of the source replace the symbols again."""

    kind: Literal["protect"] = "protect"
    patterns: tuple[ProtectedKind, ...] = ("url", "email", "tag", "placeholder", "number")
    """What to protect: URLs, e-mail addresses, tags and entities of XML and HTML, placeholders (`%s`, `%(name)s`,
    `%1$s`, `{0}`, `{name}`, `${name}`, `%NAME%`), whole numbers without separators."""
    expressions: tuple[str, ...] = ()
    """Regular expressions of your own, such as product names: `['LibreOffice \\w+']`."""
    symbols: int = Field(default=16, ge=1, le=1000)
    """Maximum number of different protected texts per line; further ones are not protected. Each is a piece of the
    vocabulary."""
    exact: bool = True
    """Make each protected text occur as often in the translation as in the source: missing ones are appended, surplus
    ones removed. With false, symbols are only replaced where the model wrote them."""

    @model_validator(mode="after")
    def _readable(self) -> "ProtectTransform":
        if not self.patterns and not self.expressions:
            raise ValueError("nothing is protected: patterns and expressions are both empty")
        for expression in self.expressions:
            try:
                compiled = re.compile(expression)
            except re.error as error:
                raise ValueError(f"expressions: {expression!r} is no regular expression: {error}") from None
            if compiled.groups:
                raise ValueError(f"expressions: {expression!r} has a group; write (?:...) in place of (...)")
            if compiled.match(""):
                raise ValueError(f"expressions: {expression!r} matches where there is nothing")
        return self


Transform = Annotated[
    NormalizeTransform
    | LengthFilter
    | RatioFilter
    | CharacterRunFilter
    | DuplicateFilter
    | CopyFilter
    | LanguageFilter
    | LettersFilter
    | WordLengthFilter
    | DenoiseTransform
    | ProtectTransform
    | ContextTransform,
    Field(discriminator="kind"),
]
