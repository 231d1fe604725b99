"""Splits of texts under a unigram model, drawn by their probability to a power."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.data.drawn_splits import Words, drawn_splits
from trimtab.data.order import uniform
from trimtab.data.piece_table import PieceTable
from trimtab.data.piece_trie import PieceTrie
from trimtab.data.word_lattices import word_lattices


@dataclass(frozen=True, slots=True)
class UnigramDraw:
    """Backward sums over all splits, then a forward draw, piece by piece: exact, whatever the number of splits.

    Words are independent of one another, so each different one has a lattice of its own. Nothing is kept from one call
    to the next: lattices that are kept are millions of small objects, which Python's garbage collector goes through
    again and again.
    Source: Kudo 2018, arXiv 1804.10959, the distribution of section 3.2 over all splits.
    """

    table: PieceTable
    trie: PieceTrie
    alpha: float
    """Power of the probabilities."""

    @classmethod
    def of(cls, table: PieceTable, alpha: float) -> "UnigramDraw":
        """The draw from the pieces of a table."""
        return cls(table, PieceTrie.of(table.scores), alpha)

    def splits(self, texts: Sequence[str], keys: np.ndarray) -> list[list[int]]:
        """Ids of each normalised text. `keys` names a stream for each (see `order.stream_keys`), of which the number at
        a character decides on the piece that begins there."""
        return drawn_splits(self.table, texts, keys, self._drawn)

    def _drawn(self, words: Words) -> tuple[np.ndarray, np.ndarray]:
        lattices = word_lattices(
            words.different, self.trie, alpha=self.alpha, unknown_score=self.table.unknown_score
        )
        places, ids = [words.place[:0]], [words.place[:0]]
        number, place, offset, key = words.number, words.place, words.offset, words.key
        left = lattices.lengths[number]
        while number.size:
            drawn, sizes = lattices.next_pieces(number, left, uniform(key, offset))
            places.append(place)
            ids.append(drawn)
            left = left - sizes
            going = np.flatnonzero(left)
            sizes, left, number, key = sizes[going], left[going], number[going], key[going]
            place, offset = place[going] + sizes, offset[going] + sizes
        return np.concatenate(places), np.concatenate(ids)
