from tests.faults.rows import STATES, Row, is_there, read_rows
from tests.for_each import for_each

ROWS = read_rows()


def test_rows_are_numbered_through():
    assert [row.number for row in ROWS] == list(range(1, 59))


@for_each("row", ROWS, called=lambda row: str(row.number))
def test_a_row_names_tests_that_are_there_or_says_why_there_are_none(row: Row):
    assert row.state in STATES
    assert [test for test in row.tests if not is_there(test)] == []
    assert row.tests or (row.note and row.state in ("gpu", "absent"))
    assert not (row.tests and row.state == "absent")


def test_a_test_that_is_not_there_is_noticed():
    assert not is_there("tests/faults/test_rows.py::test_nothing")
    assert not is_there("tests/faults/test_nothing.py::test_rows_are_numbered_through")
    assert is_there("tests/faults/test_rows.py::test_rows_are_numbered_through")
