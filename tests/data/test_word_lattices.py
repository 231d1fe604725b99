import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.piece_trie import NO_PIECE, PieceTrie
from trimtab.data.word_lattices import word_lattices

PIECES = {"a": -2.0, "b": -3.0, "ab": -3.5, "ba": -4.0, "aba": -4.5, "bb": -6.0}
UNKNOWN = -16.0
TRIE = PieceTrie.of({piece: (number, score) for number, (piece, score) in enumerate(PIECES.items())})


def all_splits(word, alpha):
    """Every split of a word with its probability to the power of alpha."""
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        edges = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), len(word)]
        split = tuple(word[start:end] for start, end in itertools.pairwise(edges))
        if all(piece in PIECES or len(piece) == 1 for piece in split):
            yield split, math.exp(alpha * sum(PIECES.get(piece, UNKNOWN) for piece in split))


@given(
    words=st.lists(st.text("abx", min_size=1, max_size=7), min_size=1, max_size=5, unique=True),
    alpha=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_the_chance_of_each_split_is_its_share_among_all_that_there_are(words, alpha):
    words = sorted(words, key=len, reverse=True)
    lattices = word_lattices(words, TRIE, alpha=alpha, unknown_score=UNKNOWN)
    assert lattices.lengths.tolist() == [len(word) for word in words]
    for number, word in enumerate(words):
        powers = dict(all_splits(word, alpha))
        for split, power in powers.items():
            chance, left = 1.0, len(word)
            for piece in split:
                steps = np.concatenate([[0.0], lattices.probabilities[:, lattices.offsets[left] + number]])
                chance *= steps[len(piece)] - steps[len(piece) - 1]
                left -= len(piece)
            assert chance == pytest.approx(power / sum(powers.values()), rel=1e-9, abs=1e-13)


def test_a_draw_takes_the_piece_in_whose_stretch_it_falls():
    lattices = word_lattices(["aba", "x"], TRIE, alpha=1.0, unknown_score=UNKNOWN)
    first = lattices.probabilities[:, lattices.offsets[3]]
    just = np.nextafter(first[:2], 0)
    draws = np.array([0.0, just[0], first[0], just[1], first[1], np.nextafter(1, 0)])
    ids, sizes = lattices.next_pieces(np.zeros(6, int), np.full(6, 3), draws)
    assert sizes.tolist() == [1, 1, 2, 2, 3, 3]
    assert [list(PIECES)[id] for id in ids.tolist()] == ["a", "a", "ab", "ab", "aba", "aba"]
    ids, sizes = lattices.next_pieces(np.array([1]), np.array([1]), np.array([0.999]))
    assert (ids.tolist(), sizes.tolist()) == ([NO_PIECE], [1])


def test_no_words_have_no_lattices():
    lattices = word_lattices([], TRIE, alpha=1.0, unknown_score=UNKNOWN)
    assert lattices.lengths.tolist() == []
