import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.kinds.concept_map import as_type, put, text_list
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


@for_each(
    ("value", "wanted", "told"),
    [(3, float, 3.0), (3.0, int, 3), (3.5, int, None), (True, int, None), (True, float, None), (1, bool, None),
     ("3", int, None), (math.inf, int, None), (10**400, float, None), (None, str, None), ("x", str, "x")],
)  # fmt: skip
def test_a_value_is_told_in_the_concepts_type_or_not_at_all(value, wanted, told):
    assert as_type(value, wanted) == told
    assert type(as_type(value, wanted)) is (wanted if told is not None else type(None))


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.none())),
    st.sampled_from([int, float, str, bool, list]),
)
def test_no_value_comes_out_in_another_type(value, wanted):
    assert as_type(value, wanted) is None or type(as_type(value, wanted)) is wanted


def test_what_is_unknown_is_not_told():
    told = {}
    put(told, "learning_rate", None)
    put(told, "learning_rate", Setting(key="lr", value="1e-4", place=Place("a")))
    assert told == {}
    with pytest.raises(KeyError):
        put(told, "no such word", Setting(key="x", value=1, place=Place("a")))


@for_each(("value", "names"), [("a", ["a"]), (["a", "b"], ["a", "b"]), ([1], None), (None, None)])
def test_names_are_a_list_of_text(value, names):
    assert text_list(value) == names
