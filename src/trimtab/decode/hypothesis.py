"""What a search gives for one source row, and the symbols it must know to search."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from trimtab.types import Tokenizer


@runtime_checkable
class HasUnspelled(Protocol):
    """A tokenizer of a model that has more rows than there are pieces."""

    @property
    def unspelled(self) -> tuple[int, ...]:
        """Ids of the others."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One translation in ids."""

    ids: list[int]
    """Without the start and end symbols."""
    score: float
    """Summed natural log-probability, that of the end symbol included; minus infinity where the model gave every
    sentence within the limit a probability of zero."""
    normalised: float
    """`score / length ** length_penalty`; see `normalise`."""

    @property
    def length(self) -> int:
        """Number of symbols that the score sums over: the ids and the end symbol."""
        return len(self.ids) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """The ids with a meaning of their own."""

    start: int
    """What the decoder is fed first."""
    end: int
    suppress: tuple[int, ...] = ()
    """Never produced. The scores of the others are not renormalised: they stay the model's own log-probabilities."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Symbols":
        """The tokenizer's symbols, with pad, start, unknown, and ids that no piece has, suppressed."""
        never = {tokenizer.pad, tokenizer.start, tokenizer.unknown} - {tokenizer.end}
        never |= set(tokenizer.unspelled) if isinstance(tokenizer, HasUnspelled) else set()
        return cls(start=tokenizer.start, end=tokenizer.end, suppress=tuple(sorted(never)))


def normalise(score: float, *, length: int, length_penalty: float) -> float:
    """The score by which hypotheses of different lengths are compared: score / length ** length_penalty.

    The length includes the end symbol. 0 compares sums, which prefers short sentences; 1 compares averages.
    Source: the form that Hugging Face `generate` and CTranslate2 use; Wu et al. 2016, arXiv 1609.08144, equation 14,
    has (5 + length) / 6 in place of the length.
    """
    return score / length**length_penalty
