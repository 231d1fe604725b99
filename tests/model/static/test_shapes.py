from hypothesis import given
from hypothesis import strategies as st

from trimtab.model.static.shapes import (
    FIRST_MEMORY,
    LEAST_HYPOTHESES,
    LEAST_SOURCE,
    Shape,
    doubled,
    least_rows,
    rounded,
)

counts = st.integers(1, 3000)


@given(counts, st.sampled_from([1, 2, 16, 32]))
def test_a_rounded_number_is_a_third_too_large_at_most_and_one_of_few(count, least):
    found = rounded(count, least=least)
    assert found >= count
    assert found == least or 2 * found < 3 * count + 3
    assert rounded(found, least=least) == found
    assert found in {least * 2**k for k in range(13)} | {least * 3 * 2**k // 2 for k in range(13)}


@given(counts, st.sampled_from([1, 16, 32]))
def test_a_doubled_number_is_less_than_twice_as_large_as_it_must_be(count, least):
    found = doubled(count, least=least)
    assert count <= found <= max(least, 2 * count - 1)


@given(counts, st.integers(1, 64), counts, counts, st.data())
def test_a_shape_holds_what_it_is_made_for_and_shrinks_to_what_is_kept(rows, width, source, memory, data):
    shape = Shape.holding(rows=rows, width=width, source=source, memory=memory)
    assert shape.rows >= rows
    assert shape.source >= max(source, LEAST_SOURCE)
    assert shape.memory >= max(memory, FIRST_MEMORY)
    kept = data.draw(st.integers(1, rows))
    smaller = shape.shrunk(kept)
    assert smaller.rows >= kept
    assert smaller[1:] == shape[1:]
    assert smaller.rows < 2 * max(kept, least_rows(width)) or smaller.rows % 2 == 1
    assert smaller.shrunk(kept) == smaller


def test_few_hypotheses_are_rounded_up_to_those_that_cost_as_much():
    assert Shape.holding(rows=1, width=4, source=5, memory=3) == (16, 4, 32, 32)
    assert Shape.holding(rows=200, width=4, source=33, memory=70) == (256, 4, 48, 128)
    assert Shape.holding(rows=1, width=64, source=5, memory=3).hypotheses == LEAST_HYPOTHESES
    assert Shape(48, 4, 32, 32).shrunk(24).rows == 24
    assert Shape(48, 4, 32, 32).shrunk(1).rows == 24
