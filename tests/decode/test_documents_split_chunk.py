from hypothesis import given
from hypothesis import strategies as st

from trimtab.decode.documents import shared_out, split_at

parts = st.lists(st.lists(st.integers(10, 99), max_size=6), min_size=1, max_size=6)
lengths = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(found=parts)
def test_a_row_is_split_at_every_separator(found):
    row = [id for part in found for id in (*part, 9)][:-1]
    assert split_at(row, 9) == found


@given(found=parts, sources=lengths)
def test_nothing_is_lost_and_the_order_is_kept(found, sources):
    shared = shared_out(found, sources)
    assert len(shared) == len(sources)
    assert [id for each in shared for id in each] == [id for part in found for id in part]
    if len(found) == len(sources):
        assert shared == found


def test_a_part_belongs_where_its_middle_lies():
    assert shared_out([[1, 2, 3, 4]], [1, 9]) == [[], [1, 2, 3, 4]]
    assert shared_out([[1], [2], [3, 4]], [4, 4]) == [[1, 2], [3, 4]]
