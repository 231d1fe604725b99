import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.decode.continuation import repeated_share


@for_each(
    ("ids", "share"),
    [
        ([], 0.0),
        ([1, 2, 3], 0.0),
        ([1, 2, 3, 4], 0.0),
        ([1, 1, 1, 1, 1], 0.5),
        ([1, 2, 3, 4, 1, 2, 3, 4], 0.2),
    ],
)
def test_the_share_is_of_four_grams_that_stood_before(ids, share):
    assert repeated_share(ids) == pytest.approx(share)


@given(ids=st.lists(st.integers(0, 3), max_size=40), size=st.integers(1, 5))
def test_it_is_one_minus_the_distinct_share(ids, size):
    seen, again, total = [], 0, 0
    for start in range(len(ids) - size + 1):
        gram = ids[start : start + size]
        total += 1
        again += gram in seen
        seen.append(gram)
    assert repeated_share(ids, size=size) == pytest.approx(again / total if total else 0.0)


def test_a_loop_is_nearly_one():
    assert repeated_share([7, 8] * 100) > 0.98
