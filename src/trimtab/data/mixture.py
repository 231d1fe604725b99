"""Which corpus and which line are at a position of the endless stream of examples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.data.order import permuted

# What a permutation is for; part of its key, so that no two uses share one.
_SLOTS, _LINES = 1, 2
# Turns of one stage; no run comes near so many.
_STAGE_BITS = 40


@dataclass(frozen=True, slots=True)
class Places:
    """Where a block of positions points to, one entry a position."""

    corpus: np.ndarray
    """Number of the corpus, int32."""
    line: np.ndarray
    """Line in the corpus, from 0, int64."""
    turn: np.ndarray
    """How many times the corpus had been gone through before, int64."""

    def take(self, order: np.ndarray) -> "Places":
        """Some of the positions."""
        return Places(self.corpus[order], self.line[order], self.turn[order])


@dataclass(frozen=True, slots=True)
class Mixture:
    """The order of an endless stream over several corpora, as a function of the seed and the position.

    An epoch holds weight · length draws of each corpus (rounded, at least one) in an order of its own. Each corpus
    deals its lines out in turns, every line once a turn in an order of the turn's own, so whatever the weights, at the
    end of every epoch no line of a corpus has been seen more than once more often than another.

    A temperature above 1 evens the corpora out: their shares of the epoch are proportional to the natural ones to the
    power of 1 / temperature, and the epoch stays as long as it was.
    Source: Arivazhagan et al. 2019, arXiv 1907.05019.
    """

    lengths: tuple[int, ...]
    """Lines of each corpus."""
    draws: tuple[int, ...]
    """Examples of each corpus in an epoch."""
    seed: int
    first_turn: int = 0
    """What turns are counted from, so that two mixtures of the same corpora deal in orders of their own."""

    @classmethod
    def of(
        cls, *, lengths: Sequence[int], weights: Sequence[float], seed: int, temperature: float = 1.0
    ) -> "Mixture":
        """The mixture of corpora with so many lines, each at `weight` times its natural rate before temperature."""
        assert min(lengths) > 0, "a corpus without lines"
        draws = [max(1, round(weight * length)) for weight, length in zip(weights, lengths, strict=True)]
        if temperature != 1.0:
            draws = _shared_out(sum(draws), np.array(draws), temperature)
        return cls(tuple(lengths), tuple(draws), seed)

    def reweighted(self, weights: Sequence[float], *, temperature: float, stage: int) -> "Mixture":
        """The mixture of a later stage: an epoch as long as this one's, in it the shares that other weights give.

        A corpus of weight 0 is left out. Lines are dealt out again, in orders that belong to the number of the stage.
        """
        natural = np.array(weights) * np.array(self.lengths)
        assert natural.min() >= 0 < natural.max(), "a stage without a corpus"
        draws = _shared_out(self.examples_per_epoch, natural, temperature)
        return Mixture(self.lengths, tuple(draws), self.seed, first_turn=stage << _STAGE_BITS)

    @property
    def shares(self) -> tuple[float, ...]:
        """Of all examples, those of each corpus."""
        return tuple(draw / self.examples_per_epoch for draw in self.draws)

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
        turn = turn + self.first_turn
        line = permuted(rank, n=lengths, key=(self.seed, _LINES, corpus, turn))
        return Places(corpus.astype(np.int32), line, turn)


def _shared_out(total: int, natural: np.ndarray, temperature: float) -> list[int]:
    """`total` in whole numbers, proportional to natural^(1 / temperature); at least one for each that is above 0."""
    parts = (natural / natural.max()) ** (1 / temperature)
    ends = np.rint(total * np.cumsum(parts) / parts.sum()).astype(np.int64)
    counts = np.maximum(np.diff(ends, prepend=0), parts > 0)
    for _ in range(int(counts.sum()) - total):
        counts[counts.argmax()] -= 1
    return counts.tolist()
