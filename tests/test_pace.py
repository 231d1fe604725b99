import math

from hypothesis import given
from hypothesis import strategies as st

from trimtab.flow import TrainState
from trimtab.pace import Pace
from trimtab.units import Duration

PACE = Pace(examples_per_epoch=100)


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
