"""Learning rates out of any usual range, and one that jumps up when a run resumes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trimtab.config.step import Noam
from trimtab.finding import Finding
from trimtab.run_findings.preflight import PEAK_RATE_OUT_OF_RANGE, RATE_RISES_AGAIN
from trimtab.step.schedule import peak_factor
from trimtab.tasks.examples import Checked
from trimtab.types import TrainState

LOWEST, HIGHEST = 1e-5, 1e-1
"""Outside of these no transformer is known to be trained from scratch with Adam or its kin."""
LOWEST_WARM = 1e-7
"""Weights that know something already may be moved less."""
USUAL = 7e-4
"""Peak of the base model of Vaswani et al. 2017 (arXiv 1706.03762): 512^-1/2 x 4000^-1/2."""
JUMP = 1.5
"""From one step to the next no schedule rises so much once its warmup is over."""


def peak_out_of_range(parts: Checked) -> Iterator[Finding]:
    """A peak rate that is far from any usual one, mostly a rate of one schedule written for another; one finding for
    each multiplier that makes it so."""
    if parts.recipe.step.optimizer.has_rates_of_adam:
        lowest = LOWEST_WARM if parts.recipe.begins_trained else LOWEST
        groups = roles_by_multiplier(parts.learning_rate.multipliers, role_of=parts.model.role_of)
        for multiplier, roles in groups.items():
            if not lowest <= parts.learning_rate.peak * multiplier <= HIGHEST:
                whose = f" of {' and '.join(roles)} weights" if len(groups) > 1 else ""
                yield out_of_range(parts, multiplier, whose=whose, lowest=lowest)


def roles_by_multiplier(
    multipliers: Mapping[str, float], *, role_of: Callable[[str], Any]
) -> dict[float, list[str]]:
    """Which roles have each multiplier, from the multipliers of all weights by name."""
    found: dict[float, set[str]] = {}
    for name, multiplier in multipliers.items():
        found.setdefault(multiplier, set()).add(role_of(name))
    return {multiplier: sorted(found[multiplier]) for multiplier in sorted(found)}


def out_of_range(parts: Checked, multiplier: float, *, whose: str, lowest: float) -> Finding:
    """The finding for the weights of this multiplier."""
    step, peak = parts.recipe.step, parts.learning_rate.peak * multiplier
    written, wanted = step.optimizer.learning_rate, USUAL / multiplier
    how = f"learning_rate is {written:g}"
    if isinstance(step.schedule, Noam):
        factor = peak_factor(step.schedule, dim=parts.recipe.model.dim)
        wanted /= factor
        how = f"noam makes {parts.learning_rate.peak:.2g} of learning_rate {written:g}, a factor there"
    if multiplier != 1:
        how += f", and learning_rate_multipliers say {multiplier:g} times it"
    bound = f"at least {lowest:g}" if peak < lowest else f"at most {HIGHEST:g}"
    return PEAK_RATE_OUT_OF_RANGE.found(
        f"the learning rate{whose} peaks at {peak:.2g} ({bound} is usual): {how}",
        fix=f"set step.optimizer.learning_rate: {wanted:.2g}, for a peak of {USUAL:g}"
        + ("" if multiplier == 1 else ", or another multiplier"),
    )


def rate_jumps(parts: Checked, state: TrainState, last: Mapping[str, Any]) -> Iterator[Finding]:
    """A next step whose rate is far above that of the last one, whose line of the metrics is `last`."""
    schedule, before, now = (
        parts.recipe.step.schedule,
        last.get("learning_rate"),
        parts.learning_rate.at(state),
    )
    warmup = parts.clock.in_steps(schedule.warmup, state) if schedule.warmup else 0
    if not before or parts.clock.done("steps", state) <= warmup or now <= JUMP * before:
        return
    yield RATE_RISES_AGAIN.found(
        f"step {state.step} had a learning rate of {before:.2g}, step {state.step + 1} has {now:.2g}: "
        f"step.optimizer.learning_rate is {parts.recipe.step.optimizer.learning_rate:g}, and the schedule "
        f"{schedule.kind} ends at {parts.recipe.length}"
    )
