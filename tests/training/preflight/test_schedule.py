from dataclasses import replace

import pytest

from tests.faults.mutation import put_bug
from trimtab.config.step import (
    Constant,
    Cosine,
    Exponential,
    InverseSqrt,
    LinearWarmup,
    Noam,
    OneCycle,
    WarmupStableDecay,
)
from trimtab.step.learning_rate import LearningRate
from trimtab.training.preflight.schedule import schedule_as_said
from trimtab.units import Duration

WARMUP = Duration.parse("10 steps")
RISING = [
    kind(warmup=WARMUP)
    for kind in (LinearWarmup, InverseSqrt, Cosine, WarmupStableDecay, OneCycle, Exponential, Noam)
]
OTHERS = [
    Constant(),
    Constant(warmup=Duration.parse("1 steps")),
    OneCycle(),
    LinearWarmup(warmup=Duration.parse("2 epochs")),
    Cosine(warmup=Duration.parse("59 steps")),
    LinearWarmup(warmup=Duration.parse("60 steps")),
    InverseSqrt(warmup=Duration.parse("500 steps")),
]


@pytest.mark.parametrize("schedule", [*RISING, *OTHERS], ids=str)
@pytest.mark.parametrize("length", ["60 steps", "2 epochs", "5000 tokens", "1 minutes"])
def test_every_schedule_is_as_said(parts_with, schedule, length):
    parts = parts_with(step={"schedule": schedule})
    parts.recipe = parts.recipe.model_copy(update={"length": Duration.parse(length)})
    parts.learning_rate.length = parts.recipe.length
    assert list(schedule_as_said(parts)) == []


def told(parts):
    (finding,) = schedule_as_said(parts)
    assert (finding.code, finding.severity) == ("S211", "error")
    return finding.message


@pytest.mark.parametrize("schedule", [each for each in RISING if not isinstance(each, Noam)], ids=str)
def test_a_schedule_that_is_stepped_twice_for_each_step_is_found(parts_with, monkeypatch, schedule):
    put_bug(monkeypatch, LearningRate.at, ("step=step", "step=2 * step"))
    assert "peak" in told(parts_with(step={"schedule": schedule}))


def test_a_schedule_that_counts_how_often_it_is_asked_is_found(parts, monkeypatch):
    asked, healthy = [], LearningRate.at

    def count(self, state):
        asked.append(state)
        return healthy(self, replace(state, step=len(asked)))

    monkeypatch.setattr(LearningRate, "at", count)
    assert "when it is asked for again" in told(parts)


@pytest.mark.parametrize(
    ("factor", "said"), [(1.2, "above its peak"), (0.5, "and not the peak of"), (0.0, "and not the peak of")]
)
def test_a_peak_of_another_height_is_found(parts, monkeypatch, factor, said):
    healthy = LearningRate.at
    monkeypatch.setattr(LearningRate, "at", lambda self, state: factor * healthy(self, state))
    assert said in told(parts)
