"""One step, five verbs: accumulate, clip, judge, optimise, report."""

from collections.abc import Callable, Sequence

import torch

from trimtab.flow import LossOutput, Pack, StepReport
from trimtab.step.accumulate import accumulate
from trimtab.step.clip.protocol import Clip
from trimtab.step.judge import must_skip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.protocol import Optimizer


def take_step(
    objective: Callable[[Pack], LossOutput],
    optimizer: Optimizer,
    packs: Sequence[Pack],
    *,
    clip: Clip,
    scale: LossScale,
    learning_rate: float,
) -> StepReport:
    """One update of the weights, every target of the window weighing the same.

    The verdict is made before the weights move and stays on the device: a skipped step changes neither weights nor
    moments, and nothing here waits for the GPU.
    """
    parameters = optimizer.parameters
    total = accumulate(objective, packs, scale=scale)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    grad_norm, clipped = clip(gradients, unscale=scale.inverse)
    skipped = must_skip(total.objective, grad_norm)
    optimizer.update(learning_rate=learning_rate, skip=skipped)
    scale.after(skipped)
    clip.after(skipped)
    for parameter in parameters:
        parameter.grad = None
    return StepReport(
        loss=total.loss,
        objective=total.objective.detach(),
        grad_norm=grad_norm,
        clipped=clipped,
        skipped=skipped.to(torch.float32),
        learning_rate=learning_rate,
        num_targets=sum(pack.num_targets for pack in packs),
        num_tokens=sum(pack.num_tokens for pack in packs),
        truncated=total.truncated,
    )
