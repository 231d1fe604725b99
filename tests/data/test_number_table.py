import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data import number_table
from trimtab.data.number_table import NumberTable

NUMBERS = st.integers(0, 2**64 - 2) | st.integers(0, 50)


@pytest.mark.parametrize("slots_per_key", [4, 1])
@given(
    known=st.dictionaries(NUMBERS, st.integers(1, 1000), max_size=60), others=st.lists(NUMBERS, max_size=20)
)
def test_it_is_a_dictionary(slots_per_key, known, others):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(number_table, "_SLOTS_PER_KEY", slots_per_key)
        table = NumberTable.of(np.array(list(known), np.uint64), np.array(list(known.values()), np.int64))
    asked = [*known, *others]
    found = table.get(np.array(asked, np.uint64))
    assert found.tolist() == [known.get(key, 0) for key in asked]


def test_keys_that_want_the_same_slot_are_all_found(monkeypatch):
    monkeypatch.setattr(number_table, "_SPREAD", np.uint64(0))
    keys = np.arange(20, dtype=np.uint64)
    table = NumberTable.of(keys, np.arange(100, 120))
    assert table.get(keys).tolist() == list(range(100, 120))
    assert table.get(np.array([20], np.uint64)).tolist() == [0]


def test_the_values_have_the_shape_of_the_keys():
    table = NumberTable.of(np.array([5, 9], np.uint64), np.array([1, 2]))
    assert table.get(np.array([[5, 9, 7], [9, 9, 5]], np.uint64)).tolist() == [[1, 2, 0], [2, 2, 1]]
    assert table.get(np.zeros((0, 3), np.uint64)).shape == (0, 3)
