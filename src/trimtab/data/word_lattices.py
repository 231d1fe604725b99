"""All splits of many words under a unigram model, as probabilities of the next piece at each position."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.data.piece_trie import NO_PIECE, PieceTrie


@dataclass(frozen=True, slots=True)
class WordLattices:
    """Places of all words in one order: by the number of characters left, then by the number of the word.

    Words are numbered from the longest to the shortest, so those with n characters left are the first ones, and what
    is computed of them lies side by side.
    """

    lengths: np.ndarray
    """Characters of each word, int64, falling."""
    offsets: np.ndarray
    """For each number of characters left, where its places begin; int64."""
    probabilities: np.ndarray
    """For pieces of one character, two and so on (rows), at each place (columns): the chance that the next piece is so
    long or shorter, float64."""
    ids: np.ndarray
    """Their ids, int32; NO_PIECE for a character without a piece, at a price."""

    def next_pieces(
        self, words: np.ndarray, left: np.ndarray, draws: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Id and length of the piece that each draw, from 0 to below 1, gives with so many characters left."""
        places = self.offsets[left] + words
        rows = (self.probabilities[:, places] <= draws).sum(0)
        return self.ids[rows, places], rows + 1


def word_lattices(
    words: Sequence[str], trie: PieceTrie, *, alpha: float, unknown_score: float
) -> WordLattices:
    """The lattices of words, none of them empty, from the longest to the shortest.

    Backward sums over all splits in logarithms, each piece with its probability to the power of alpha.
    """
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    # How many words have so many characters, or more: for each number of characters left the size of its run of places.
    sizes = len(words) - np.cumsum(np.bincount(lengths, minlength=1))
    sizes = np.concatenate([[len(words)], sizes])[: lengths.max(initial=0) + 1]
    offsets = np.cumsum(sizes) - sizes
    weights, ids = _pieces(words, lengths, offsets, trie=trie, alpha=alpha, unknown_score=unknown_score)
    probabilities = np.ones_like(weights)
    after = np.zeros(weights.shape[1])
    """Logarithm of the sum over all splits of what follows a place."""
    for left in range(1, len(sizes)):
        longest, size = min(left, len(weights)), int(sizes[left])
        here = slice(int(offsets[left]), int(offsets[left]) + size)
        following = offsets[left - longest : left][::-1, None] + np.arange(size)
        logs = weights[:longest, here] + after[following]
        highest = logs.max(0)
        sums = np.exp(logs - highest).cumsum(0)
        probabilities[:longest, here] = sums / sums[-1]
        after[here] = highest + np.log(sums[-1])
    return WordLattices(lengths, offsets, probabilities, ids)


def _pieces(
    words: Sequence[str],
    lengths: np.ndarray,
    offsets: np.ndarray,
    *,
    trie: PieceTrie,
    alpha: float,
    unknown_score: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and ids of the pieces that begin at each place, by their length; minus infinity if there is none."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    ends = np.repeat(np.cumsum(lengths), lengths)
    places = offsets[ends - np.arange(len(codes))] + np.repeat(np.arange(len(words)), lengths)
    found = list(trie.pieces_at(codes, ends)) or [(places[:0], places[:0])]
    weights = np.full((len(found), len(words) + len(codes)), -np.inf)
    ids = np.full(weights.shape, NO_PIECE, np.int32)
    weights[0] = alpha * unknown_score
    for row, (starts, nodes) in enumerate(found):
        weights[row, places[starts]] = alpha * trie.scores[nodes]
        ids[row, places[starts]] = trie.ids[nodes]
    return weights, ids
