from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.decode.limits import target_limit


@for_each(("source", "expected"), [(1, 12), (25, 60), (122, 254), (123, 256), (256, 256)])
def test_twice_the_source_and_ten_more_but_never_beyond_what_the_model_knows(source, expected):
    assert target_limit(source, max_tokens=256) == expected


@for_each(
    ("source", "prefix", "expected"),
    [(1, 1, 12), (1, 2, 12), (1, 3, 13), (25, 50, 60), (25, 51, 61), (2, 246, 256), (2, 255, 256)],
)
def test_behind_a_prefix_there_is_room_for_ten_as_far_as_the_model_goes(source, prefix, expected):
    assert target_limit(source, max_tokens=256, prefix_tokens=prefix) == expected


@given(source=st.integers(1, 300), prefix=st.integers(0, 300), most=st.integers(1, 300))
def test_a_prefix_makes_room_and_never_takes_any(source, prefix, most):
    free, begun = (target_limit(source, max_tokens=most, prefix_tokens=given) for given in (0, prefix))
    assert free <= begun <= most
    assert begun >= min(most, prefix + 10)
