"""One step, five verbs: accumulate, clip, judge, optimise, report."""

from collections.abc import Callable, Sequence

import torch

from trimtab.flow import LossOutput, Pack, Refusal, StepReport
from trimtab.step.accumulate import accumulate
from trimtab.step.clip.protocol import Clip
from trimtab.step.judge import judge, must_skip
from trimtab.step.loss_scale import LossScale
from trimtab.step.numbers import Measures, StepNumbers
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate


def take_step(
    objective: Callable[[Pack], LossOutput],
    optimizer: Optimizer,
    packs: Sequence[Pack],
    *,
    clip: Clip,
    scale: LossScale,
    learning_rate: float,
    gate: OutlierGate | None = None,
) -> StepReport:
    """One update of the weights, every target of the window weighing the same.

    The verdict is made before the weights move and stays on the device: a skipped step changes neither weights nor
    moments nor any statistic, and nothing here waits for the GPU.
    """
    masked = gate is not None and gate.masked
    numbers = StepNumbers.of(packs, learning_rate=learning_rate, masked=masked)
    measures = step_on_device(objective, optimizer, packs, numbers, clip=clip, scale=scale, gate=gate)
    return report_of(measures, packs, learning_rate=learning_rate)


def step_on_device(
    objective: Callable[[Pack], LossOutput],
    optimizer: Optimizer,
    packs: Sequence[Pack],
    numbers: StepNumbers,
    *,
    clip: Clip,
    scale: LossScale,
    gate: OutlierGate | None,
) -> Measures:
    """The step itself: it reads nothing of the host that changes from step to step, so that it can be recorded."""
    parameters = optimizer.parameters
    total = accumulate(objective, packs, targets=numbers.targets, scale=scale)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    grad_norm, clipped = clip(gradients, unscale=scale.inverse)
    refusal = judge(total, grad_norm, scale=scale, gate=gate)
    refusal = torch.where(numbers.masked, Refusal.MASKED.value, refusal)
    skipped = refusal > 0
    optimizer.update(learning_rate=numbers.learning_rate, skip=skipped)
    if scale.enabled:
        scale.after(must_skip(total.objective, grad_norm))
    clip.after(skipped)
    if gate is not None:
        gate.after(skipped)
    for parameter in parameters:
        parameter.grad = None
    return Measures(total.loss, total.objective.detach(), grad_norm, clipped, refusal, total.truncated)


def report_of(measures: Measures, packs: Sequence[Pack], *, learning_rate: float) -> StepReport:
    """What a step measured, with what the host knows of it."""
    return StepReport(
        **measures._asdict(),
        learning_rate=learning_rate,
        num_targets=sum(pack.num_targets for pack in packs),
        num_tokens=sum(pack.num_tokens for pack in packs),
    )
