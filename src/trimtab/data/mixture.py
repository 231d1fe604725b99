"""Which corpus and which line stand at a position of the endless stream of examples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.data.order import permuted

# What a permutation is for; part of its key, so that no two uses share one.
_SLOTS, _LINES = 1, 2


@dataclass(frozen=True, slots=True)
class Places:
    """Where a block of positions points to, one entry a position."""

    corpus: np.ndarray
    """Number of the corpus, int32."""
    line: np.ndarray
    """Line in the corpus, from 0, int64."""
    turn: np.ndarray
    """How many times the corpus had been gone through before, int64."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """The order of an endless stream over several corpora, as a function of the seed and the position.

    An epoch holds weight · length draws of each corpus (rounded, at least one) in an order of its own. Each corpus
    deals its lines out in turns, every line once a turn in an order of the turn's own, so whatever the weights, at the
    end of every epoch no line of a corpus has been seen more than once more often than another.
    """

    lengths: tuple[int, ...]
    """Lines of each corpus."""
    draws: tuple[int, ...]
    """Examples of each corpus in an epoch."""
    seed: int

    @classmethod
    def of(cls, *, lengths: Sequence[int], weights: Sequence[float], seed: int) -> "Mixture":
        """The mixture of corpora with so many lines, each at `weight` times its natural rate."""
        assert min(lengths) > 0, "a corpus without lines"
        draws = [max(1, round(weight * length)) for weight, length in zip(weights, lengths, strict=True)]
        return cls(tuple(lengths), tuple(draws), seed)

    @property
    def examples_per_epoch(self) -> int:
        """Positions that make up one epoch."""
        return sum(self.draws)

    def at(self, positions: np.ndarray) -> Places:
        """Corpus, line and turn at each of the positions."""
        epoch, place = np.divmod(positions, self.examples_per_epoch)
        slot = permuted(place, n=self.examples_per_epoch, key=(self.seed, _SLOTS, epoch))
        ends = np.cumsum(self.draws)
        corpus = np.searchsorted(ends, slot, side="right")
        draws, lengths = np.asarray(self.draws)[corpus], np.asarray(self.lengths)[corpus]
        drawn_before = epoch * draws + slot - (ends[corpus] - draws)
        turn, rank = np.divmod(drawn_before, lengths)
        line = permuted(rank, n=lengths, key=(self.seed, _LINES, corpus, turn))
        return Places(corpus.astype(np.int32), line, turn)
