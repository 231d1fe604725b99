"""What a translation from text to text needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from trimtab.decode.batches import MOST_HYPOTHESES
from trimtab.decode.search import Search
from trimtab.decode.shortlist import Shortlist
from trimtab.decode.terminology import Terminology
from trimtab.types import Tokenizer, Translates


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationSetup:
    """A model with its tokenizer, and how to search with it."""

    model: Translates
    tokenizer: Tokenizer
    device: torch.device
    """Where the model is."""
    normalise: Callable[[str], str]
    """What the training did to a source line before it was tokenised."""
    normalise_words: Callable[[str], str] | None = None
    """The same for text without source factors, such as terms and forced prefixes; by default `normalise`."""
    factor_columns: int = 0
    """How many values of source factors follow each word of a source line."""
    words_alone: Callable[[str], str] = str
    """A source line without the factors after its words."""
    cuts_words: bool = True
    """Whether a long line may be cut within a word, which is not possible where factors follow each word."""
    max_tokens: int
    """Longest side in tokens, end symbol included; longer source lines are translated piece by piece."""
    search: Search = field(default_factory=Search)
    batch_tokens: int = 16384
    """Source tokens of one batch, padding included, times the beam."""
    most_hypotheses: int = MOST_HYPOTHESES
    """Rows of one batch times the beam, however short they are."""
    shortlist: Shortlist | None = None
    """Which target ids a batch is searched in; None for all."""
    encode_target: Callable[[Sequence[str]], list[list[int]]] | None = None
    """Ids of target text, end symbol included, for forced prefixes; by default the tokenizer's own."""
    terminology: Terminology | None = None
    """Terms that translations must have where they are in a line."""

    def normalise_text(self, text: str) -> str:
        """What the training did to text that has no source factors."""
        return (self.normalise_words or self.normalise)(text)

    def spell_target(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of target text without the end symbol."""
        encode = self.encode_target if self.encode_target is not None else self.tokenizer.encode
        return [ids[:-1] for ids in encode(texts)]


@dataclass(slots=True)
class TranslationCounts:
    """What happened so far; the streaming functions add to it."""

    lines: int = 0
    empty_lines: int = 0
    """Nothing in them to translate; they give empty lines."""
    cut_lines: int = 0
    """Longer than `max_tokens`, so translated in pieces."""
    pieces: int = 0
    """Rows given to the model: one for each line, more for lines that were cut."""
    source_tokens: int = 0
    target_tokens: int = 0
    """End symbols included."""
    at_limit: int = 0
    """Pieces whose translation is as long as it may be, so that it was probably cut off."""
    terms: int = 0
    """Terms of a glossary in the lines."""
    lines_with_terms: int = 0
    missing_terms: int = 0
    """Those whose translation is not in that of their line."""
    lines_with_missing_terms: int = 0
