import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.types import Ragged

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=6)


def rows_of(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(index).tolist() for index in range(len(ragged))]


@given(ROWS)
def test_ragged_rows_are_the_rows_that_were_put_in(rows):
    ragged = Ragged.of(rows)
    assert rows_of(ragged) == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]


@given(st.lists(ROWS, max_size=4))
def test_joined_rows_follow_one_another(parts):
    joined = Ragged.joined([Ragged.of(rows) for rows in parts])
    assert rows_of(joined) == [row for rows in parts for row in rows]


@given(ROWS, st.data())
def test_a_range_of_rows_is_a_view_of_them(rows, data):
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    ragged = Ragged.of(rows)
    part = ragged.between(start, stop)
    assert rows_of(part) == rows[start:stop]
    assert part.offsets[0] == 0
    assert part.values.size == 0 or np.shares_memory(part.values, ragged.values)


@given(ROWS, st.randoms())
def test_rows_can_be_taken_in_any_order_and_again(rows, random):
    order = [random.randrange(len(rows)) for _ in range(7)] if rows else []
    assert rows_of(Ragged.of(rows).take(np.array(order, np.int64))) == [rows[index] for index in order]
