import numpy as np
import pytest

from trimtab.watch.untouched_rows import BOTH, UntouchedRows


def test_rows_are_touched_by_the_examples_of_their_side():
    rows = UntouchedRows({"source": 10, "target": 4})
    assert rows.shares() == {}
    rows.add("source", np.array([1, 1, 7]))
    assert rows.shares() == {"source": pytest.approx(0.8)}
    rows.add("target", np.array([0, 1, 2, 3]))
    rows.add("source", np.array([17]))  # piece 7 with a factor
    assert rows.shares() == {"source": pytest.approx(0.8), "target": 0.0}


def test_a_vocabulary_of_both_sides_is_read_by_either():
    rows = UntouchedRows({BOTH: 4})
    rows.add("source", np.array([0]))
    rows.add("target", np.array([1]))
    assert rows.shares() == {BOTH: 0.5}
