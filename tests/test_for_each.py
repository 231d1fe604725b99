import inspect

import pytest

from tests.for_each import for_each


def test_all_cases_run_and_the_error_names_those_that_failed():
    seen = []

    @for_each("number", range(5))
    def is_even(number):
        seen.append(number)
        assert number % 2 == 0

    with pytest.raises(ExceptionGroup, match=r"2 of 5 cases fail: 1, 3") as caught:
        is_even()
    assert seen == [0, 1, 2, 3, 4]
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: 1"], ["case: 3"]]


def test_a_case_that_does_not_raise_is_named_too():
    @for_each("text", ["x", "1"])
    def is_no_number(text):
        with pytest.raises(ValueError):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases fail: '1'"):
        is_no_number()


def test_arguments_of_cases_are_no_fixtures_and_all_others_are():
    @for_each(("one", "other"), [(1, 1), (2, 2)], called=lambda case: case[0])
    def same(one, tmp_path, other):
        assert (one, tmp_path) == (other, "here")

    assert list(inspect.signature(same).parameters) == ["tmp_path"]
    same(tmp_path="here")


def test_a_name_that_the_test_does_not_take_or_no_case_is_refused():
    with pytest.raises(AssertionError, match="no such argument"):
        for_each("nothing", [1])(lambda number: None)
    with pytest.raises(AssertionError, match="no case"):
        for_each("number", [])
