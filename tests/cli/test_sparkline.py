import math

from hypothesis import given
from hypothesis import strategies as st

from trimtab.cli.sparkline import BLOCKS, MOST, PLAIN, Course, sparkline

FINITE = st.floats(-1e6, 1e6)


def test_the_course_of_a_falling_loss_falls():
    assert sparkline([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 8) == BLOCKS[::-1]
    assert sparkline([1.0, 2.0], 8, is_ascii=True) == PLAIN[0] + PLAIN[-1]
    assert sparkline([2.0, 2.0, 2.0], 8) == BLOCKS[0] * 3
    assert sparkline([], 8) == ""


@given(st.lists(FINITE, max_size=200), st.integers(0, 50))
def test_a_line_is_never_wider_than_its_room(values, width):
    line = sparkline(values, width)
    assert len(line) == min(width, len(values))
    assert set(line) <= set(BLOCKS)


def test_a_long_run_is_kept_in_bounded_memory_and_keeps_its_mean():
    course = Course()
    for step in range(4096):
        course.add(float(step))
    assert len(course.values) < MOST
    assert course.length * len(course.values) == 4096
    assert sum(course.values) / len(course.values) == 4095 / 2
    assert course.values == sorted(course.values)


def test_what_is_no_finite_number_is_left_out():
    course = Course()
    for value in (1.0, math.nan, math.inf, None, "nan", 3):
        course.add(value)
    assert course.values == [1.0, 3.0]
