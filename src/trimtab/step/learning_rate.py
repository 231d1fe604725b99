"""The learning rate of each step, from the schedule and how far the run is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.config.step import Schedule
from trimtab.run_clock import RunClock
from trimtab.step.schedule import rate_at
from trimtab.types import TrainState
from trimtab.units import Duration

FIRST_WARMUP_STEPS = 1000
"""How long a warmup in another unit is taken to be for the first step, whose pace is not known."""


@dataclass(slots=True)
class LearningRate:
    """A function of the run's state alone."""

    schedule: Schedule
    length: Duration
    """Of the whole run."""
    clock: RunClock
    peak: float
    """The highest rate that the schedule reaches."""
    multipliers: Mapping[str, float]
    """What the rate of a step is multiplied by for each weight, by the weight's name."""

    def at(self, state: TrainState) -> float:
        """The rate of the next step."""
        length = self.clock.in_steps(self.length, state)
        warmup = self.clock.in_steps(self.schedule.warmup, state) if self.schedule.warmup else 0
        # Before the first step an epoch or a minute is no number of steps yet; the first update must move anyway.
        warmup = min(warmup, FIRST_WARMUP_STEPS) if math.isinf(warmup) else warmup
        step = int(self.clock.done("steps", state))
        return self.peak * rate_at(self.schedule, step=step, length=length, warmup=warmup)
