"""A split of a text under a unigram model, drawn by its probability to a power."""

import math
import random
from bisect import bisect
from dataclasses import dataclass, field
from itertools import accumulate

from trimtab.data.piece_table import PieceTable

_MOST_WORDS = 1 << 16
"""Words whose lattice is kept."""

Choice = tuple[list[float], list[int], list[list[int]]]
"""At one place of a word: cumulated chances, where each piece ends, and its ids."""


@dataclass(slots=True)
class UnigramDraw:
    """Backward sums over all splits, then a forward draw, piece by piece: exact, whatever the number of splits.

    Words are independent of one another, so each has a lattice of its own, made once. Source: Kudo 2018, arXiv
    1804.10959, the distribution of section 3.2 over all splits.
    """

    table: PieceTable
    alpha: float
    """Power of the probabilities."""
    lattices: dict[str, list[Choice]] = field(default_factory=dict[str, list[Choice]], repr=False)

    def split(self, text: str, rng: random.Random) -> list[int]:
        """Ids of a normalised text."""
        ids: list[int] = []
        for word, whole in self.table.parts(text):
            ids += self.table.spell(word) if whole else self._drawn(word, rng)
        return self.table.joined(ids)

    def _drawn(self, word: str, rng: random.Random) -> list[int]:
        lattice = self.lattices.get(word)
        if lattice is None:
            if len(self.lattices) >= _MOST_WORDS:
                self.lattices.clear()
            lattice = self.lattices[word] = self._lattice(word)
        ids: list[int] = []
        place = 0
        while place < len(word):
            chances, ends, spelled = lattice[place]
            number = min(bisect(chances, rng.random() * chances[-1]), len(ends) - 1) if len(ends) > 1 else 0
            ids += spelled[number]
            place = ends[number]
        return ids

    def _lattice(self, word: str) -> list[Choice]:
        table, size = self.table, len(word)
        after = [0.0] * (size + 1)
        """Logarithm of the sum over all splits of what follows a place."""
        lattice: list[Choice] = [([], [], [])] * size
        for start in range(size - 1, -1, -1):
            found: list[tuple[float, int, list[int]]] = []
            for end in range(start + 1, min(size, start + table.longest) + 1):
                known = table.scores.get(word[start:end])
                if known is not None:
                    found.append((self.alpha * known[1] + after[end], end, [known[0]]))
            if not found or found[0][1] != start + 1:
                # A character without a piece of its own can be passed all the same, at a price.
                unknown = (
                    self.alpha * table.unknown_score + after[start + 1],
                    start + 1,
                    table.spell(word[start]),
                )
                found.insert(0, unknown)
            highest = max(weight for weight, _, _ in found)
            shares = [math.exp(weight - highest) for weight, _, _ in found]
            after[start] = highest + math.log(sum(shares))
            lattice[start] = (
                list(accumulate(shares)),
                [end for _, end, _ in found],
                [ids for _, _, ids in found],
            )
        return lattice
