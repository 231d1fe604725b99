import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.guard.outlier import OutlierRule
from trimtab.replaying.evidence import (
    LEAST_DEVIATION,
    Column,
    Evidence,
    Measure,
    fault,
    is_above,
    is_outlier,
    is_worse,
)

NAN, BROKEN = math.nan, Measure(math.nan, math.nan)


def windows(level, *, norm=1.0, count=16):
    """Measures around a level, as far apart as windows of a few hundred targets are."""
    return tuple(
        Measure(level * (1 + 0.01 * (n % 5 - 2)), norm * (1 + 0.02 * (n % 5 - 2))) for n in range(count)
    )


def evidence(now, older, *, recorded="same", others=None, older_others=None, **more):
    """Losses of the window by both weights; other windows are well by both unless they are given."""
    now, older = (each if isinstance(each, Measure) else Measure(each, 1.0) for each in (now, older))
    return Evidence(
        now if recorded == "same" else recorded,
        Column(70, now, windows(2.0) if others is None else others),
        Column(60, older, windows(2.2) if older_others is None else older_others),
        **more,
    )


@for_each(
    ("found", "verdict"),
    [
        (evidence(2.0, 2.2), "no_spike"),
        (evidence(6.0, 6.0), "data"),
        (evidence(Measure(2.0, 30.0), Measure(2.2, 20.0)), "data"),
        (evidence(BROKEN, BROKEN), "data"),
        (evidence(6.0, 2.2), "data_and_state"),
        (evidence(Measure(2.0, 30.0), 2.2), "data_and_state"),
        (evidence(BROKEN, 2.2), "data_and_state"),
        (evidence(9.0, 2.2, others=windows(9.0)), "state"),
        (evidence(BROKEN, 2.2, others=(BROKEN,) * 16), "state"),
        (evidence(BROKEN, BROKEN, others=(BROKEN,) * 16, older_others=(BROKEN,) * 16), "state"),
        (evidence(9.0, 9.0, others=windows(9.0), older_others=windows(9.0)), "no_spike"),
        (
            evidence(
                9.0, 9.0, others=windows(9.0), older_others=windows(9.0), history=windows(2.2, count=128)
            ),
            "state",
        ),
        (evidence(2.0, 2.2, recorded=Measure(7.0, 1.0)), "not_reproduced"),
        (evidence(2.0, 2.2, recorded=Measure(2.0, NAN)), "not_reproduced"),
        (evidence(BROKEN, 2.2, recorded=Measure(2.0, 1.0)), "not_reproduced"),
        (evidence(2.0, 2.2, recorded=Measure(2.3, 1.0)), "not_reproduced"),
        (evidence(2.0, 2.2, recorded=Measure(2.001, 1.0)), "no_spike"),
        (evidence(6.0, 6.0, recorded=Measure(6.5, 1.0)), "data"),
        (evidence(BROKEN, BROKEN, recorded=Measure(NAN, math.inf)), "data"),
        (evidence(6.0, 6.0, recorded=None), "data"),
        (evidence(2.0, 2.2, recorded=None, refused=True), "no_spike"),
        (evidence(2.0, 2.2, recorded=None, refused=True, refused_again=False), "not_reproduced"),
        (evidence(6.0, 6.0, recorded=None, refused=True, refused_again=False), "data"),
        (evidence(9.0, 2.2, recorded=None, refused=True, refused_again=False, others=windows(9.0)), "state"),
        (evidence(2.0, 2.2, recorded=None, refused_again=False), "no_spike"),
    ],
)
def test_the_verdict(found, verdict):
    assert fault(found) == verdict


def test_less_is_asked_of_a_step_that_was_refused_and_of_the_same_spike_again():
    assert fault(evidence(2.18, 2.4)) == "no_spike"
    assert fault(evidence(2.18, 2.4, refused=True)) == "data"
    assert fault(evidence(6.0, 2.4)) == "data"
    assert fault(evidence(6.0, 2.21)) == "data_and_state"


def test_the_same_bits_are_told_from_the_same_number():
    found = evidence(2.0, 2.2, recorded=Measure(2.0000001, 1.0))
    assert not found.exact
    assert found.reproduced
    assert found.difference == pytest.approx(5e-8, rel=0.1)
    assert evidence(BROKEN, 2.2, recorded=Measure(NAN, NAN)).exact
    assert math.isnan(evidence(2.0, 2.2, recorded=None).difference)


@given(
    level=st.floats(0.05, 12),
    noise=st.lists(st.floats(-0.02, 0.02), min_size=17, max_size=17),
    learned=st.floats(0.5, 1.0),
)
def test_windows_that_are_alike_are_no_spike_at_any_level(level, noise, learned):
    """Losses within two per cent of one another, by weights that learned something or nothing since."""
    older = [Measure(level * (1 + each), 1 + each) for each in noise]
    now = [Measure(learned * each.loss, each.grad_norm) for each in older]
    found = Evidence(now[0], Column(9, now[0], tuple(now[1:])), Column(5, older[0], tuple(older[1:])))
    assert fault(found) == "no_spike"


@given(st.floats(0.05, 5), st.floats(3, 1e6))
def test_a_level_many_times_as_high_is_the_state(level, factor):
    then = windows(level)
    now = tuple(Measure(each.loss * factor, each.grad_norm) for each in then)
    assert is_worse(now, then)
    assert not is_worse(then, now)
    assert not is_worse(then, then)


def test_too_few_windows_say_nothing():
    assert not is_outlier(Measure(9.0, 1.0), windows(2.0, count=3), deviations=3.0)
    assert not is_worse(windows(9.0), windows(2.0, count=3))
    assert not is_above(windows(9.0), windows(2.0, count=63))
    assert is_above(windows(9.0), windows(2.0, count=64))
    assert is_above(windows(2.0, norm=40.0), windows(2.0, count=64))


def test_the_history_is_judged_by_the_rule_of_the_run():
    history, spread = windows(2.0, count=20), 2.0 * LEAST_DEVIATION
    strict = OutlierRule(active_from=16, loss_deviations=4.0, norm_deviations=6.0)
    now = windows(2.0 + 6 * spread)
    assert is_above(now, history, rule=strict)
    assert not is_above(now, history, rule=replace(strict, loss_deviations=40.0))
    assert not is_above(now, history, rule=replace(strict, active_from=21)), "too few to say"
    found = evidence(now[0].loss, now[0].loss, others=now, older_others=now, history=history)
    assert not found.state_is_bad
    assert replace(found, rule=strict).state_is_bad
