import pytest

from tests.for_each import for_each
from trimtab.config.step import Constant, LinearWarmup
from trimtab.run_clock import RunClock
from trimtab.step.learning_rate import LearningRate
from trimtab.types import TrainState
from trimtab.units import Duration

# 40 steps took 400 of 200 examples (2 epochs), 4,000 target tokens and 120 seconds: one step is a twentieth of an
# epoch, 100 tokens, a twentieth of a minute.
STATE = TrainState(step=40, position=400, target_tokens=4000, seconds=120.0)


def rising(length, warmup):
    return rate_of(LinearWarmup(warmup=Duration.parse(warmup)), length)


def rate_of(schedule, length):
    return LearningRate(schedule, Duration.parse(length), RunClock(200), peak=1e-2, multipliers={})


@for_each(
    ("length", "warmup"),
    [
        ("100 steps", "20 steps"),
        ("10000 tokens", "2000 tokens"),
        ("5 epochs", "1 epochs"),
        ("5 minutes", "1 minutes"),
        ("5 epochs", "20 steps"),
        ("100 steps", "1 minutes"),
    ],
)
def test_the_rate_follows_the_schedule_in_whichever_unit_it_is_written(length, warmup):
    assert rising(length, warmup).at(STATE) == pytest.approx(1e-2 * (1 - (40 - 20) / (100 - 20)))


def test_the_rate_rises_during_warmup_and_is_there_without_one():
    rates = rising("60 steps", "10 steps")
    assert [rates.at(TrainState(step=step)) for step in (0, 4, 9, 10)] == pytest.approx(
        [1e-3, 5e-3, 1e-2, 1e-2]
    )
    assert rates.at(TrainState(step=60)) == 0
    constant = rate_of(Constant(), "3 minutes")
    assert constant.at(TrainState()) == constant.at(STATE) == 1e-2


@pytest.mark.parametrize("warmup", ["1000 tokens", "0.1 epochs", "0.1 minutes"])
def test_the_first_update_moves_the_weights_in_whichever_unit_warmup_is_written(warmup):
    assert 0 < rising("5 minutes", warmup).at(TrainState()) < 1e-3
