"""Filters that clean a parallel corpus: repeated pairs, copies, other languages, text that is none."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from trimtab.config.languages import known_languages, labels_of
from trimtab.config.settings import Settings, refused


class DuplicateFilter(Settings):
    """Drops pairs that repeat an earlier one, of any corpus with the same tags; the first one is kept, in the order of
    `data.train`. They are found when the run starts, as the transforms before leave them, by 64-bit hashes: 30 bytes
    of memory a pair, a bit when it runs."""

    kind: Literal["duplicate"] = "duplicate"
    by: Literal["pair", "source", "target"] = "pair"
    """What must be the same: both sides; with `source`, the source, so that each is kept with its first target only;
    with `target`, the target."""
    exact: bool = True
    """With false, case, punctuation and spaces do not count, and neither does which digits there are."""


class CopyFilter(Settings):
    """Drops pairs whose target is the source, or nearly; not those of a corpus given as `text`."""

    kind: Literal["copy"] = "copy"
    similarity: float = Field(default=0.9, gt=0, le=1)
    """How alike the sides are that are dropped: the share of pairs of neighbouring characters that both have (the Dice
    coefficient), without case, punctuation and spaces. 1 drops what is the same."""
    min_characters: int = Field(default=20, ge=0)
    """Pairs with no side longer than this are kept, because names, numbers and words such as `OK` are rightly the
    same."""


class LanguageFilter(Settings):
    """Drops pairs with a side in another language than it should be, by the library py3langid: `pip install
    "trimtab[langid]"`."""

    kind: Literal["language"] = "language"
    source: str | None = None
    """Language of the sources, such as `en` (also `eng`, `en-GB`); by default sources are not judged."""
    target: str | None = None
    """Language of the targets; by default targets are not judged."""
    certainty: float = Field(default=0.99, ge=0.5, lt=1)
    """Probability that a side is not in its language above which a pair is dropped. Short labels and commands need 0.99
    or more; 0.999 drops hardly any rightly translated line."""
    min_characters: int = Field(default=20, ge=1)
    """Sides with fewer letters are not judged, because short lines look alike in many languages."""
    only: tuple[str, ...] = ()
    """The `name`s of the corpora that are judged; by default all but those given as `text`. A corpus that is read in
    both directions is judged the other way around in the second."""

    @field_validator("source", "target", mode="after")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and not labels_of(value):
            raise refused(
                "",
                "a language that trimtab cannot identify",
                got=value,
                allowed=f"a code such as en, deu or pt-BR, of {', '.join(known_languages())}",
                fix="write the code of the language, or leave this side out",
            )
        return value

    @model_validator(mode="after")
    def _judges(self) -> "LanguageFilter":
        if self.source is None and self.target is None:
            raise ValueError("no language is given; write `source: en`, `target: de`, or both")
        return self


class LettersFilter(Settings):
    """Drops pairs with a side that is hardly text: tables, codes, rows of dots."""

    kind: Literal["letters"] = "letters"
    min: float = Field(default=0.5, ge=0, le=1)
    """Minimum share of letters among the characters of a side, spaces not counted."""


class WordLengthFilter(Settings):
    """Drops pairs with a long word, such as encoded data or text without its spaces; not for languages that are written
    without spaces."""

    kind: Literal["word_length"] = "word_length"
    max: int = Field(default=40, ge=1)
    """Maximum length of a word between spaces, in characters."""
