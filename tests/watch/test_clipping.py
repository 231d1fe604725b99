import math

import pytest

from tests.for_each import for_each
from trimtab.watch.clipping import FEWEST, FEWEST_WITHOUT, WINDOW, ClipWatch, rounded


def watched(norms, *, at=1.0):
    watch = ClipWatch(at)
    for norm in norms:
        watch.add(norm, clipped=norm > at)
    return watch


def test_a_clip_that_almost_always_acts_and_hard_is_told_with_a_better_one():
    found = watched([3.0] * 900 + [0.5] * 100).look()
    assert (found.code, found.severity) == ("S922", "warning")
    assert "90% of the last 1000 steps were clipped (bound 80%)" in found.message
    assert "set step.clip.at to 6, twice the median" in found.fix


def test_a_clip_of_almost_nothing_is_told():
    assert watched([0.5] * FEWEST, at=1e-6).look().code == "S922"


@for_each(
    "norms",
    [
        [1.1] * 2000,  # the demo: almost always, but by little
        [3.0] * (FEWEST - 1),  # too early
        [3.0, 3.0, 0.5] * 500,  # two of three
        [3.0] * 2000 + [0.5] * 201 + [3.0] * 799,  # it has become better
        [0.5] * 10_000,
        [0.2] * (FEWEST_WITHOUT - 1),
        [0.0] * 10_000,
    ],
)
def test_a_clip_that_does_its_work_is_not_told(norms):
    assert watched(norms).look() is None


def test_a_clip_that_nothing_ever_reaches_is_noted():
    found = watched([0.05] * FEWEST_WITHOUT).look()
    assert (found.code, found.severity) == ("S923", "note")
    assert "in 3,000 steps the largest gradient norm was 0.05, and the clip is at 1" in found.message
    assert "step.clip.at to 0.2" in found.fix
    assert watched([0.05] * FEWEST_WITHOUT + [0.11]).look() is None


def test_only_the_newest_steps_count_and_norms_that_are_no_numbers_do_not():
    watch = watched([math.nan, math.inf, *[3.0] * 600, *[0.5] * WINDOW])
    assert (watch.share, watch.typical, watch.steps) == (0.0, 0.5, 600 + WINDOW)
    assert math.isnan(ClipWatch(1.0).share)


@pytest.mark.parametrize(("value", "expected"), [(0.0234, 0.02), (7.6, 8.0), (123.0, 100.0)])
def test_advice_is_given_to_one_digit(value, expected):
    assert rounded(value) == pytest.approx(expected)
