import math
import random
import statistics
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.config.guard import GuardConfig
from trimtab.errors import InputError
from trimtab.guard import Guard, outlier
from trimtab.guard.outlier import OutlierRule, OutlierWindow, deviation, median
from trimtab.guard.streak import CAP
from trimtab.step import outlier_gate


def filled(losses, norms=None, rule=None) -> OutlierWindow:
    window = OutlierWindow(rule or OutlierRule())
    for loss, norm in zip(losses, norms or [1.0] * len(losses), strict=True):
        window.accept(loss, norm)
    return window


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=140))
def test_the_median_is_that_of_the_standard_library(values):
    assert median(values) == statistics.median_low(values)
    middle = statistics.median_low(values)
    assert deviation(values) == statistics.median_low(abs(value - middle) for value in values)


def test_nothing_is_an_outlier_before_enough_is_known():
    window = filled([2.0] * 63)
    assert window.judge(1e9, 1e9) is None
    window.accept(2.0, 1.0)
    assert window.judge(1e9, 1.0).code == "S902"
    assert window.judge(2.0, 1e9).code == "S903"


def test_the_bounds_are_those_of_the_formula():
    random.seed(1)
    losses = [2 + random.gauss(0, 0.1) for _ in range(100)]
    norms = [math.exp(random.gauss(-1, 0.3)) for _ in range(100)]
    loss_bound, norm_bound = filled(losses, norms).bounds()
    logs = [math.log(norm) for norm in norms]
    assert loss_bound == pytest.approx(
        statistics.median_low(losses) + 8 * 1.4826 * deviation(losses), rel=1e-12
    )
    assert math.log(norm_bound) == pytest.approx(
        statistics.median_low(logs) + 10 * 1.4826 * deviation(logs), rel=1e-12
    )


def test_a_loss_that_never_varies_may_vary_a_little():
    window = filled([2.0] * 100)
    assert window.judge(2.0 * (1 + 7.9e-3), 1.6) is None
    assert window.judge(2.0 * (1 + 8.1e-3), 1.6) is not None
    assert window.judge(2.0, 1.64) is None


def test_norms_that_are_all_over_the_range_of_numbers_leave_a_bound_that_is_a_number():
    window = filled([2.0] * 99, [1e-30, 1.0, 1e30] * 33)
    assert window.bounds()[1] == math.exp(700)
    assert window.judge(2.0, 1e30) is None


def spiked_stream(steps: int, at: set[int], *, seed: int, size: float) -> list[float]:
    """A falling loss with noise of 0.05, and spikes of `size` deviations."""
    draw = random.Random(seed)
    return [
        2 + 3 * math.exp(-step / 400) + draw.gauss(0, 0.05) + (size * 0.05 if step in at else 0)
        for step in range(steps)
    ]


CLUSTER = set(range(1000, 1010))
SPACED = {1300, 1500, 1700}


def caught_by_medians(stream: list[float]) -> set[int]:
    window, caught = OutlierWindow(), set()
    for step, loss in enumerate(stream):
        if window.judge(loss, 1.0):
            caught.add(step)
        else:
            window.accept(loss, 1.0)
    return caught


def caught_by_mean_and_deviation(stream: list[float]) -> set[int]:
    """The rule in use elsewhere: mean + 6 deviations of the last 128, outliers included, from 64 on."""
    window, caught = deque(maxlen=128), set()
    for step, loss in enumerate(stream):
        if len(window) >= 64 and loss > statistics.fmean(window) + 6 * statistics.stdev(window):
            caught.add(step)
        window.append(loss)
    return caught


@pytest.mark.quick("0")
@pytest.mark.parametrize("seed", range(10))
def test_thirteen_of_thirteen_spikes_are_caught_where_mean_and_deviation_lose_some(seed):
    """reliability figures: ten clustered and three spaced spikes of 20 deviations."""
    stream = spiked_stream(2000, CLUSTER | SPACED, seed=seed, size=20)
    assert caught_by_medians(stream) == CLUSTER | SPACED
    assert len(caught_by_mean_and_deviation(stream)) < 13


@pytest.mark.quick("7")
@pytest.mark.parametrize("seed", range(10))
def test_a_healthy_falling_loss_is_never_refused(seed):
    assert caught_by_medians(spiked_stream(4000, set(), seed=seed, size=0)) == set()


@given(st.lists(st.floats(0.1, 10), max_size=200), st.lists(st.floats(0.1, 10), min_size=1, max_size=40))
def test_a_window_that_was_saved_judges_as_the_one_that_was_not(before, after):
    window = filled(before)
    again = OutlierWindow()
    again.from_dict(window.to_dict())
    for value in after:
        assert window.judge(value, value) == again.judge(value, value)
        window.accept(value, value)
        again.accept(value, value)
    assert window.bounds() == again.bounds()


def test_a_guard_by_itself_has_the_numbers_of_a_run_that_writes_none():
    """The constants stand twice, since neither stage reads the other's: in the recipe, and for other training loops."""
    config, rule = GuardConfig(), OutlierRule()
    shared = ("window", "active_from", "loss_deviations", "norm_deviations")
    assert {name: getattr(config, name) for name in shared} == {name: getattr(rule, name) for name in shared}
    assert (config.cap, Guard().streak.cap) == (CAP, CAP)
    assert Guard().outliers.rule == rule
    assert (outlier.NORMAL_MAD, outlier.LEAST_NORM) == (outlier_gate.NORMAL_MAD, outlier_gate.LEAST_NORM)
    assert (rule.least_loss_deviation, rule.least_norm_deviation) == (
        outlier_gate.LEAST_LOSS_DEVIATION,
        outlier_gate.LEAST_NORM_DEVIATION,
    )


@for_each(
    "wrong",
    [
        {"window": 1},
        {"active_from": 0},
        {"loss_deviations": 0.0},
        {"norm_deviations": math.nan},
        {"window": 10_001},
        {"active_from": 10_001},
        {"loss_deviations": 51.0},
        {"least_loss_deviation": math.inf},
        {"least_norm_deviation": 1.5},
    ],
)
def test_constants_with_which_the_rule_could_not_work_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=rf"OutlierRule.{name}: .*\n  got .*\n  allowed .*\n  fix "):
        OutlierRule(**wrong)


def test_infinite_deviations_switch_half_of_the_rule_off():
    window = OutlierWindow(OutlierRule(window=16, loss_deviations=math.inf))
    for step in range(16):
        window.accept(2.0 + step / 100, 1.0)
    assert window.judge(1e9, 1.0) is None
    assert window.judge(2.0, 1e9).code == "S903"


def test_a_short_window_speaks_once_it_is_full():
    window = OutlierWindow(OutlierRule(window=32))
    for step in range(32):
        assert window.bounds() is None
        window.accept(2.0 + step / 100, 1.0)
    assert window.judge(50.0, 1.0).code == "S902"
