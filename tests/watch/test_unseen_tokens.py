import numpy as np
import pytest

from trimtab.watch.unseen_tokens import BOTH, UnseenTokens


def test_tokens_are_seen_in_the_examples_of_their_side():
    tokens = UnseenTokens({"source": 10, "target": 4})
    assert tokens.shares() == {}
    tokens.add("source", np.array([1, 1, 7]))
    assert tokens.shares() == {"source": pytest.approx(0.8)}
    tokens.add("target", np.array([0, 1, 2, 3]))
    tokens.add("source", np.array([17]))  # piece 7 with a factor
    assert tokens.shares() == {"source": pytest.approx(0.8), "target": 0.0}


def test_a_vocabulary_of_both_sides_is_read_by_either():
    tokens = UnseenTokens({BOTH: 4})
    tokens.add("source", np.array([0]))
    tokens.add("target", np.array([1]))
    assert tokens.shares() == {BOTH: 0.5}
