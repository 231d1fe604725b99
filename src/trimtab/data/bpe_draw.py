"""Random splits under a BPE model, with merges dropped at random."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.data.drawn_splits import Words, drawn_splits
from trimtab.data.merge_table import MergeTable
from trimtab.data.order import uniform
from trimtab.data.piece_table import PieceTable

_GONE = -1
"""In place of a symbol, where no piece begins any more."""
_ROUND_BITS = 32


@dataclass(frozen=True, slots=True)
class BpeDraw:
    """BPE-dropout (Provilkov et al. 2020, arXiv 1910.13267) as sentencepiece has it: the best merge comes first, and
    one that is left out is not tried again, where the paper draws for all merges again after each.

    Many words are merged at once, in rounds: in each, one merge of every word is done or left out.
    """

    table: PieceTable
    merges: MergeTable
    dropout: float
    """Share of the merges that are left out."""

    @classmethod
    def of(cls, table: PieceTable, dropout: float) -> "BpeDraw":
        """The draw from the pieces of a table."""
        return cls(table, MergeTable.of(table.scores), dropout)

    def splits(self, texts: Sequence[str], keys: np.ndarray) -> list[list[int]]:
        """Ids of each normalised text. `keys` names a stream for each (see `order.stream_keys`), of which a number that
        depends on the round and on where the word begins decides on the merge."""
        return drawn_splits(self.table, texts, keys, self._drawn)

    def _drawn(self, words: Words) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.fromiter(map(len, words.different), np.int64, len(words.different))[words.number]
        # Words of about one length together, since each takes as much as the longest.
        classes = np.ceil(np.log2(lengths)).astype(np.int64)
        places, ids = [words.place[:0]], [words.place[:0]]
        for each in np.unique(classes).tolist():
            some = np.flatnonzero(classes == each)
            symbols = self._symbols(words, some)
            self._merge(symbols, words.key[some], words.offset[some])
            width: int = symbols.shape[1]
            inside = np.arange(width) < lengths[some][:, None]
            row, column = np.nonzero((symbols != _GONE) & inside)
            places.append(words.place[some][row] + column)
            ids.append(self.merges.ids[symbols[row, column]])
        return np.concatenate(places), np.concatenate(ids)

    def _symbols(self, words: Words, some: np.ndarray) -> np.ndarray:
        """The symbol of each character of some words, [words, longest + 1]; 0 behind the end of a word."""
        different, row = np.unique(words.number[some], return_inverse=True)
        numbers: list[int] = different.tolist()
        texts = [words.different[number] for number in numbers]
        width = max(map(len, texts)) + 1
        symbols = np.zeros((len(texts), width), np.int64)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        symbols[np.arange(width) < lengths[:, None]] = self.merges.characters("".join(texts))
        return symbols[row]

    def _merge(self, symbols: np.ndarray, keys: np.ndarray, offsets: np.ndarray) -> None:
        """Merges the symbols of words in place. The last column is behind the end of every word: its symbol, 0, merges
        with nothing, so neighbours need not exist."""
        width: int = symbols.shape[1]
        following = np.tile(np.minimum(np.arange(width) + 1, width - 1), (len(symbols), 1))
        before = np.tile(np.arange(width) - 1, (len(symbols), 1))
        joined = np.zeros_like(symbols)
        joined[:, :-1] = self.merges.joined(symbols[:, :-1], symbols[:, 1:])
        scores = self.merges.scores[joined]
        going, rounds = np.arange(len(symbols)), 0
        while True:
            best = scores[going].argmax(1)
            able = np.flatnonzero(joined[going, best])
            going, best = going[able], best[able]
            if not going.size:
                return
            left_out = uniform(keys[going], (rounds << _ROUND_BITS) + offsets[going]) < self.dropout
            joined[going[left_out], best[left_out]] = 0
            scores[going[left_out], best[left_out]] = -np.inf
            row, at = going[~left_out], best[~left_out]
            symbols[row, at] = joined[row, at]
            gone = following[row, at]
            after, back = following[row, gone], before[row, at]
            symbols[row, gone], joined[row, gone], scores[row, gone] = _GONE, 0, -np.inf
            following[row, at], before[row, after] = after, at
            for left, right in ((at, after), (back, at)):
                joined[row, left] = self.merges.joined(symbols[row, left], symbols[row, right])
                scores[row, left] = self.merges.scores[joined[row, left]]
            rounds += 1
