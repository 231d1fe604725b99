"""Checks that an update changes every weight in proportion to the learning rate, and a skipped one none."""

from collections.abc import Iterator

import torch

from trimtab.config.step import ClipOff
from trimtab.finding import Finding
from trimtab.run_findings.preflight import (
    MOVES_THOUGH_NOT_TRAINED,
    RATE_NOT_APPLIED,
    SKIPPED_STEP_CHANGES_SOMETHING,
    WEIGHT_DOES_NOT_MOVE,
)
from trimtab.step.clip.build import build_clip
from trimtab.step.clip.component import ComponentClip
from trimtab.step.clip.protocol import Clip
from trimtab.step.multipliers import names_by_multiplier
from trimtab.step.optimizer.averaged_weights import AveragedWeights
from trimtab.step.optimizer.weight_clip import ClippedWeights
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.one_step import one_step
from trimtab.training.preflight.restored_weights import weights_put_back, with_own_moments
from trimtab.training.preflight.state_backup import backup, tensors_of
from trimtab.training.preflight.weights import named
from trimtab.types import Batch, LossOutput

RATE = 1.0
"""So high that no movement is lost to rounding."""
RATIO_TOLERANCE = 0.05

Distances = dict[str, float]
"""How far each tensor moved, by name."""


def weights_follow_the_rate(parts: Checked) -> Iterator[Finding]:
    """Two first updates from the same weights, at a rate and at half of it; weights of different multipliers are
    looked at apart."""
    pack = parts.examples.few()
    trained = [name for name, weight in parts.model.named_parameters() if weight.requires_grad]
    groups = names_by_multiplier(trained, parts.learning_rate.multipliers)
    rate = RATE / min(groups)  # so that all of them move by at least RATE
    whole, half = (moved_by(parts, pack, rate=each) for each in (rate, rate / 2))
    yield from still(sorted(name for name in trained if not whole[name] > 0), of=len(trained))
    yield from moved_all_the_same(sorted(name for name in whole.keys() - {*trained} if whole[name] != 0))
    for names in groups.values():
        lengths = [sum(each[name] ** 2 for name in names) ** 0.5 for each in (whole, half)]
        if lengths[0] > 0 and not abs(lengths[0] / max(lengths[1], 1e-30) / 2 - 1) <= RATIO_TOLERANCE:
            yield not_applied(lengths, rate=rate, of="" if len(groups) == 1 else f" of {named(names)}")
            return


def not_applied(lengths: list[float], *, rate: float, of: str) -> Finding:
    """The finding for weights whose update is so long at a rate, and at half of it."""
    return RATE_NOT_APPLIED.found(
        f"at a rate of {rate:g} the first update{of} is {lengths[0]:.3g} long, at {rate / 2:g} it is "
        f"{lengths[1]:.3g}, not half of it"
    )


def still(names: list[str], *, of: int) -> Iterator[Finding]:
    """A finding for weights that an update left where they were."""
    if names:
        yield WEIGHT_DOES_NOT_MOVE.found(
            f"an update at a rate of {RATE:g} leaves {named(names, of=of)} where it was"
        )


def moved_all_the_same(names: list[str]) -> Iterator[Finding]:
    """A finding for tensors that nobody trains and that moved."""
    if names:
        yield MOVES_THOUGH_NOT_TRAINED.found(f"an update changes {named(names)}, which is not trained")


def moved_by(parts: Checked, pack: Batch, *, rate: float) -> Distances:
    """How far one update moves each tensor; nothing bounds it, neither the gradient nor the weights."""
    with weights_put_back(parts) as first:
        optimizer = with_own_moments(parts)
        for around in (AveragedWeights, ClippedWeights):
            optimizer = optimizer.inner if isinstance(optimizer, around) else optimizer
        one_step(parts, optimizer, [pack], clip=build_clip(ClipOff()), rate=rate)
        return {
            name: float((now.detach().to(first[name].device) - first[name]).float().norm())
            for name, now in tensors_of(parts.model).items()
        }


def skipped_steps_change_nothing(parts: Checked) -> Iterator[Finding]:
    """A step whose loss is not a number, after one that is well: weights and moments stay, bit for bit."""

    def poisoned(pack: Batch) -> LossOutput:
        out = parts.stepper.objective(pack)
        return LossOutput(out.objective * torch.nan, out.loss, out.truncated)

    pack = parts.examples.few()
    with weights_put_back(parts):
        optimizer, clip = with_own_moments(parts), another_clip(parts)
        one_step(parts, optimizer, [pack], clip=clip, rate=1e-3)
        before = backup({**tensors_of(parts.model), **optimizer.state_tensors()})
        one_step(parts, optimizer, [pack], clip=clip, rate=1e-3, objective=poisoned)
        now = {**tensors_of(parts.model), **optimizer.state_tensors()}
        changed = [name for name, was in before.items() if not torch.equal(was, now[name].to(was.device))]
    if changed:
        yield SKIPPED_STEP_CHANGES_SOMETHING.found(
            f"a step whose loss is NaN was skipped, but changed {named(sorted(changed))}"
        )


def another_clip(parts: Checked) -> Clip:
    """A clip of the run's kind that has learned nothing."""
    own = parts.stepper.clip
    components = own.components if isinstance(own, ComponentClip) else None
    return build_clip(parts.recipe.step.clip, components=components)
