import pytest

from trimtab.checks.placeholder import is_placeholder


@pytest.mark.parametrize("value", ["${RATE}", "$RATE", "{{ rate }}", ["a", "${B}"], "out/${NAME}"])
def test_what_is_filled_in_later_is_a_placeholder(value):
    assert is_placeholder(value)


@pytest.mark.parametrize("value", ["rate", 1e-4, None, "costs $5", [], ["a"], "{'a': 1}"])
def test_what_stands_there_for_itself_is_none(value):
    assert not is_placeholder(value)
