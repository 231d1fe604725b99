"""Learning rate by step: the share of the peak rate, a pure function."""

import math
from typing import assert_never

from trimtab.config.step import Constant, Cosine, InverseSqrt, LinearWarmup, Schedule


def rate_at(schedule: Schedule, *, step: int, length: int | float, warmup: int | float) -> float:
    """Share of the peak rate for window number `step`, counted from 0, of a run of `length` steps.

    During warmup it is (step + 1) / warmup, so that the first update already moves the weights. `length` and `warmup`
    may be fractions where they follow from epochs or minutes, and `length` may be infinite.
    """
    if step < warmup:
        return (step + 1) / warmup if step + 1 < warmup else 1.0
    match schedule:
        case Constant():
            return 1.0
        case LinearWarmup():
            return max(0.0, 1 - gone(step, length, warmup))
        case InverseSqrt():
            return math.sqrt(max(1.0, warmup) / max(1.0, warmup, step + 1.0))
        case Cosine():
            wave = (1 + math.cos(math.pi * min(1.0, gone(step, length, warmup)))) / 2
            return schedule.floor + (1 - schedule.floor) * wave
        case _:
            assert_never(schedule)


def gone(step: int, length: int | float, warmup: int | float) -> float:
    """Share of the time after warmup that is over at a step; 0 when the end is not known yet."""
    if math.isinf(length):
        return 0.0
    return (step - warmup) / max(1e-9, length - warmup)
