"""The merges of a BPE vocabulary, looked up for many pairs of symbols at once."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.data.number_table import NumberTable
from trimtab.data.piece_trie import NO_PIECE

_SYMBOL_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True)
class MergeTable:
    """Symbols are the pieces and their characters, numbered from 1; 0 is a character of no piece."""

    ids: np.ndarray
    """For each symbol the id of its piece, NO_PIECE for a character that is none, int32."""
    scores: np.ndarray
    """For each symbol how early it is merged, minus infinity for 0, float64."""
    pairs: NumberTable
    """What two symbols become, where that is a piece."""
    codes: np.ndarray
    """The symbol of each code point up to the highest one in a piece, and a 0 behind; int64."""

    @classmethod
    def of(cls, pieces: Mapping[str, tuple[int, float]]) -> "MergeTable":
        """The merges of pieces with their ids and scores."""
        known = dict.fromkeys(pieces) | dict.fromkeys("".join(pieces))
        symbols = {symbol: number for number, symbol in enumerate(known, start=1)}
        pairs = {
            (symbols[piece[:cut]], symbols[piece[cut:]]): symbols[piece]
            for piece in pieces
            for cut in range(1, len(piece))
            if piece[:cut] in symbols and piece[cut:] in symbols
        }
        left, right = np.array(list(pairs), np.int64).reshape(-1, 2).T
        codes = np.zeros(
            2 + max((ord(symbol) for symbol in symbols if len(symbol) == 1), default=0), np.int64
        )
        for symbol, number in symbols.items():
            if len(symbol) == 1:
                codes[ord(symbol)] = number
        found = [(NO_PIECE, -np.inf), *(pieces.get(symbol, (NO_PIECE, -np.inf)) for symbol in symbols)]
        return cls(
            np.array([id for id, _ in found], np.int32),
            np.array([score for _, score in found], np.float64),
            NumberTable.of(_keys(left, right), np.array(list(pairs.values()), np.int64)),
            codes,
        )

    def characters(self, text: str) -> np.ndarray:
        """The symbol of each character, int64."""
        found = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        return self.codes[np.minimum(found, len(self.codes) - 1)]

    def joined(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The symbol that each pair becomes, 0 where it becomes none."""
        return self.pairs.get(_keys(left, right))


def _keys(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left.astype(np.uint64) << _SYMBOL_BITS | right.astype(np.uint64)
