"""One step of the run's own kind, for checks."""

from collections.abc import Callable, Sequence

import torch

from trimtab.step.clip.protocol import Clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.take_step import take_step
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import SEED, as_trained
from trimtab.types import Batch, LossOutput, StepReport


def one_step(
    parts: Checked,
    optimizer: Optimizer,
    packs: Sequence[Batch],
    *,
    clip: Clip,
    rate: float,
    objective: Callable[[Batch], LossOutput] | None = None,
) -> StepReport:
    """`take_step` with an optimizer, a clip and perhaps an objective of the check's own, by the program that trains and
    always with the same dropout. The loss scale is new and 1, which the few examples of a check do not overflow."""
    scale = LossScale(enabled=parts.stepper.scale.enabled, device=parts.device, start=1.0)
    parts.model.train()
    torch.manual_seed(SEED)
    with as_trained():
        return take_step(
            objective or parts.stepper.objective, optimizer, packs, clip=clip, scale=scale, learning_rate=rate
        )
