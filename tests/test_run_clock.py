import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.run_clock import RunClock, StopRule
from trimtab.types import TrainState
from trimtab.units import Duration

PACE = RunClock(positions_per_epoch=100)


def at(step):
    return TrainState(step=step, position=25 * step, target_tokens=500 * step, seconds=6.0 * step)


@given(st.sampled_from(["3 steps", "2 epochs", "1500 tokens", "1 minutes"]), st.integers(1, 60))
def test_a_duration_is_due_once_for_each_multiple_passed(text, steps):
    every = Duration.parse(text)
    fired = sum(PACE.due(every, at(i), at(i + 1)) for i in range(steps))
    assert fired <= PACE.share(every, at(steps))
    assert fired == min(steps, math.floor(PACE.share(every, at(steps))))


def test_lengths_become_steps_by_the_runs_own_pace():
    assert PACE.in_steps(Duration.parse("7 steps"), at(0)) == 7
    assert PACE.in_steps(Duration.parse("2 epochs"), at(3)) == 8
    assert PACE.in_steps(Duration.parse("5000 tokens"), at(3)) == 10
    assert PACE.in_steps(Duration.parse("2 minutes"), at(3)) == 20
    assert PACE.in_steps(Duration.parse("2 minutes"), at(0)) == math.inf


# 40 steps took 400 of 200 examples (2 epochs), 4,000 target tokens and 120 seconds.
STATE = TrainState(step=40, position=400, target_tokens=4000, seconds=120.0)


def stop_rule(length, patience=None):
    return StopRule(Duration.parse(length), patience, RunClock(200))


@for_each("length", ["40 steps", "4000 tokens", "2 epochs", "2 minutes"])
def test_a_run_is_finished_when_its_length_is_reached(length):
    assert stop_rule(length).reached(STATE)
    short = TrainState(step=39, position=399, target_tokens=3999, seconds=119.9)
    assert not stop_rule(length).reached(short)
    assert stop_rule(length).reason(STATE) == f"its length of {length} is reached"


def test_a_run_is_finished_when_its_patience_is_at_its_end():
    rule = stop_rule("60 steps", patience=2)
    since = [TrainState(step=1, best={"since": since}) for since in (1, 2, 3)]
    assert [rule.reached(state) for state in since] == [False, True, True]
    assert not rule.reached(TrainState(step=1))
    assert not stop_rule("60 steps").reached(since[2])
    assert [rule.ended_early(state) for state in since] == [False, True, True]
    assert not stop_rule("1 steps", patience=2).ended_early(since[2])
    told = "evaluate.patience is at its end: the last 2 evaluations were no better; raise it to continue"
    assert rule.reason(since[1]) == told


@for_each("length", ["40 steps", "4000 tokens", "2 epochs", "2 minutes"])
def test_a_length_counts_from_where_the_schedule_was_reset(length):
    origin = {"step": 40.0, "target_tokens": 4000.0, "epochs": 2.0, "seconds": 120.0}
    again = TrainState(step=80, position=800, target_tokens=8000, seconds=240.0, origin=origin)
    assert not stop_rule(length).reached(replace(STATE, origin=origin))
    assert stop_rule(length).reached(again)
    assert RunClock(200).in_steps(Duration.parse(length), again) == 40
