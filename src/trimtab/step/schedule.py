"""Learning rate by step: the share of the peak rate, a pure function."""

import math
from typing import assert_never, get_args

from trimtab.arguments import described, real_number, whole_number, wrong
from trimtab.config.step import (
    Constant,
    Cosine,
    Exponential,
    InverseSqrt,
    LinearWarmup,
    Noam,
    OneCycle,
    Schedule,
    WarmupStableDecay,
)

ONE_CYCLE_RISE = 0.3
"""Share of a run in which `one_cycle` rises where no warmup is written."""


def rate_at(schedule: Schedule, *, step: int, length: int | float, warmup: int | float) -> float:
    """Share of the peak learning rate for window number `step`, counted from 0, of a run of `length` steps.

    During warmup it is (step + 1) / warmup, so that the first update already moves the weights. `length` and `warmup`
    may be fractions where they follow from epochs or minutes, and `length` may be infinite. Raises InputError for a
    schedule that is none, a negative step or warmup, and a length of 0.
    """
    kinds = get_args(get_args(Schedule)[0])
    if not isinstance(schedule, kinds):
        raise wrong(
            "rate_at: schedule",
            "is no schedule",
            got=described(schedule),
            allowed=", ".join(kind.__name__ for kind in kinds) + ", each from trimtab.config.step",
            fix="`from trimtab.config.step import Cosine`, then rate_at(Cosine(), step=0, length=1000, warmup=100)",
        )
    whole_number(step, name="rate_at: step", least=0, fix="count steps from 0")
    real_number(length, name="rate_at: length", above=0.0, fix="pass the steps of the whole run, or math.inf")
    real_number(warmup, name="rate_at: warmup", least=0.0, below=math.inf, fix="pass steps; 0 for no warmup")
    if isinstance(schedule, OneCycle):
        return one_cycle(schedule, step=step, length=length, warmup=warmup)
    if step < warmup:
        return (step + 1) / warmup if step + 1 < warmup else 1.0
    match schedule:
        case Constant():
            return 1.0
        case LinearWarmup():
            return max(0.0, 1 - elapsed_share(step, length, warmup))
        case InverseSqrt() | Noam():
            return math.sqrt(max(1.0, warmup) / max(1.0, warmup, step + 1.0))
        case Cosine():
            return interpolate(1.0, schedule.floor, half_cosine(elapsed_share(step, length, warmup)))
        case WarmupStableDecay():
            begun = length * (1 - schedule.decay_share)
            share = elapsed_share(step, length, max(begun, warmup)) if step > begun else 0.0
            fallen = share if schedule.shape == "linear" else math.sqrt(share)
            return interpolate(1.0, schedule.floor, min(1.0, fallen))
        case Exponential():
            return schedule.floor ** min(1.0, elapsed_share(step, length, warmup))
        case _:
            assert_never(schedule)


def peak_factor(schedule: Schedule, *, dim: int) -> float:
    """What the configured rate is multiplied with to give the peak: 1, except for `noam`."""
    return (dim * schedule.warmup.count) ** -0.5 if isinstance(schedule, Noam) else 1.0


def one_cycle(schedule: OneCycle, *, step: int, length: int | float, warmup: int | float) -> float:
    """Two half cosines that meet at the peak."""
    rise = warmup or (ONE_CYCLE_RISE * length if math.isfinite(length) else 1000.0)
    if step < rise:
        return interpolate(schedule.start, 1.0, half_cosine(step / rise))
    return interpolate(1.0, schedule.floor, half_cosine(elapsed_share(step, length, rise)))


def half_cosine(share: float) -> float:
    """From 0 to 1, slow at both ends."""
    return (1 - math.cos(math.pi * min(1.0, share))) / 2


def interpolate(first: float, last: float, share: float) -> float:
    """The value a share of the way from one to the other."""
    return first + (last - first) * share


def elapsed_share(step: int, length: int | float, warmup: int | float) -> float:
    """Share of the time after warmup that is over at a step; 0 when the end is not known yet."""
    if math.isinf(length):
        return 0.0
    return (step - warmup) / max(1e-9, length - warmup)
