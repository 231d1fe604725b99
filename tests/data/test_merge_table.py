import numpy as np

from trimtab.data.merge_table import MergeTable
from trimtab.data.piece_trie import NO_PIECE

# `d` is no piece, but a piece is made of it; `x` and all that is beyond the highest character is nothing.
PIECES = {"a": (4, -9.0), "b": (5, -8.0), "ab": (6, -0.0), "abd": (7, -1.0), "bd": (8, -2.0), "é": (9, -10.0)}
TABLE = MergeTable.of(PIECES)


def test_characters_are_symbols_and_all_others_are_one():
    symbols = TABLE.characters("abdéx漢🙂")
    assert [int(TABLE.ids[symbol]) for symbol in symbols] == [4, 5, NO_PIECE, 9, *[NO_PIECE] * 3]
    assert len(set(symbols[:4].tolist()) - {0}) == 4
    assert symbols[4:].tolist() == [0, 0, 0]


def test_two_symbols_become_the_piece_that_they_spell():
    a, b, d = TABLE.characters("abd")
    ab, bd, nothing = TABLE.joined(np.array([a, b, a]), np.array([b, d, d]))
    assert [int(TABLE.ids[each]) for each in (ab, bd, nothing)] == [6, 8, NO_PIECE]
    for left, right in ((ab, d), (a, bd)):
        (whole,) = TABLE.joined(np.array([left]), np.array([right]))
        assert TABLE.ids[whole] == 7
        assert TABLE.scores[whole] == -1.0
    assert TABLE.joined(np.array([0, a, 0, -1]), np.array([a, 0, 0, a])).tolist() == [0, 0, 0, 0]


def test_a_vocabulary_without_merges_joins_nothing():
    table = MergeTable.of({"a": (4, -1.0)})
    assert table.joined(table.characters("a"), table.characters("a")).tolist() == [0]
