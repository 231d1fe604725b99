from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.transforms.filters import is_outside_ratio


def test_only_more_than_the_ratio_is_outside():
    assert not is_outside_ratio("a" * 10, "b" * 40, most=4.0, min_characters=20)
    assert is_outside_ratio("a" * 10, "b" * 41, most=4.0, min_characters=20)


def test_short_pairs_are_never_outside():
    assert not is_outside_ratio("a", "b" * 20, most=4.0, min_characters=20)
    assert is_outside_ratio("a", "b" * 21, most=4.0, min_characters=20)


def test_an_empty_side_is_outside_unless_the_other_is_short():
    assert is_outside_ratio("", "b" * 21, most=4.0, min_characters=20)
    assert not is_outside_ratio("", "", most=4.0, min_characters=0)


@given(st.text(max_size=50), st.text(max_size=50), st.floats(1.1, 10))
def test_the_sides_are_equals(source, target, most):
    there = is_outside_ratio(source, target, most=most, min_characters=5)
    assert there == is_outside_ratio(target, source, most=most, min_characters=5)
