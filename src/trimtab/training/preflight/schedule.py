"""Whether the learning rate of a step is what the schedule says, from the step's number alone."""

import math
from collections.abc import Iterator

from trimtab.config.step import OneCycle
from trimtab.finding import Finding
from trimtab.run_findings.preflight import SCHEDULE_NOT_AS_SAID
from trimtab.tasks.examples import Checked
from trimtab.types import TrainState

LOOKS = 50
"""Steps that are looked at before the peak, and as many after it."""
ROUNDING = 1e-6


def schedule_as_said(parts: Checked) -> Iterator[Finding]:
    """A rate asked for twice is the same; where warmup is in steps, the peak is reached at its end and not before."""
    said = [*again(parts), *peak_in_time(parts)]
    if said:
        yield SCHEDULE_NOT_AS_SAID.found(
            f"the learning rate of the schedule {parts.recipe.step.schedule.kind} is off: {said[0]}"
        )


def rate(parts: Checked, step: int) -> float:
    """The rate of the step after so many."""
    return parts.learning_rate.at(TrainState(step=step))


def again(parts: Checked) -> Iterator[str]:
    """What is wrong with a rate that is asked for again."""
    for step in (0, 1, 7):
        first, second = rate(parts, step), rate(parts, step)
        if first != second:
            yield f"step {step + 1} has {first:.4g} when it is asked for, and {second:.4g} when it is asked for again"


def peak_in_time(parts: Checked) -> Iterator[str]:
    """What is wrong with the way up, where both lengths are written in steps and the peak lies within the run."""
    recipe, schedule = parts.recipe, parts.recipe.step.schedule
    peak, warmup = parts.learning_rate.peak, schedule.warmup
    if recipe.length.unit != "steps" or (warmup is not None and warmup.unit != "steps"):
        return
    length, rise = recipe.length.steps, 0 if warmup is None else warmup.steps
    if isinstance(schedule, OneCycle) and warmup is None:
        return  # its peak lies somewhere between two steps
    top = rise if isinstance(schedule, OneCycle) else max(0, rise - 1)
    if top >= length:
        return
    every = max(1, math.ceil(length / LOOKS))
    highest = max(rate(parts, step) for step in range(0, length, every))
    if not highest <= peak * (1 + ROUNDING):
        yield f"it rises to {highest:.4g}, above its peak of {peak:.4g}"
    if not abs(rate(parts, top) - peak) <= ROUNDING * peak:
        yield f"step {top + 1}, where warmup ends, has {rate(parts, top):.4g} and not the peak of {peak:.4g}"
    before = [step for step in range(0, top, max(1, top // LOOKS)) if not rate(parts, step) < peak]
    if before:
        yield f"the peak of {peak:.4g} is reached at step {before[0] + 1}, and warmup ends at {top + 1}"
