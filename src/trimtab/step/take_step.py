"""One step, five verbs: accumulate, clip, judge, optimise, report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trimtab.distributed import ONE_RANK, Ranks
from trimtab.step.accumulate import accumulate
from trimtab.step.clip.protocol import Clip, ReportsDetails
from trimtab.step.judge import judge, must_skip
from trimtab.step.loss_scale import LossScale
from trimtab.step.numbers import Counts, Measures, StepNumbers
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.over_ranks import summed
from trimtab.types import Batch, LeavesWeightsOut, LossOutput, SkipReason, StepReport


def take_step(
    objective: Callable[[Batch], LossOutput],
    optimizer: Optimizer,
    batches: Sequence[Batch],
    *,
    clip: Clip,
    scale: LossScale,
    learning_rate: float,
    gate: OutlierGate | None = None,
) -> StepReport:
    """One update of the weights, every target of the step weighing the same.

    The verdict is made before the weights move and stays on the device: a skipped step changes neither weights nor
    moments nor any statistic, and nothing here waits for the GPU.
    """
    return StepsOverRanks(ONE_RANK).take_step(
        objective, optimizer, batches, clip=clip, scale=scale, learning_rate=learning_rate, gate=gate
    )


@dataclass(frozen=True, slots=True)
class StepsOverRanks:
    """Takes steps as `take_step` does, together with other ranks: the same update as one process makes of all
    micro-batches, up to the order of additions, and the same bits on every rank."""

    ranks: Ranks

    def take_step(
        self,
        objective: Callable[[Batch], LossOutput],
        optimizer: Optimizer,
        batches: Sequence[Batch],
        *,
        clip: Clip,
        scale: LossScale,
        learning_rate: float,
        gate: OutlierGate | None = None,
    ) -> StepReport:
        """See `take_step`; of the micro-batches only those of this rank, which may be none. The report is of the step,
        the same on every rank."""
        counts = Counts.of(batches, self.ranks)
        masked = gate is not None and gate.masked
        device = batches[0].device if batches else optimizer.parameters[0].device
        numbers = StepNumbers.of(
            counts, learning_rate=learning_rate, masked=masked, device=device, ranks=self.ranks
        )
        measures = step_on_device(objective, optimizer, batches, numbers, clip=clip, scale=scale, gate=gate)
        return report_of(measures, counts, learning_rate=learning_rate)


def step_on_device(
    objective: Callable[[Batch], LossOutput],
    optimizer: Optimizer,
    batches: Sequence[Batch],
    numbers: StepNumbers,
    *,
    clip: Clip,
    scale: LossScale,
    gate: OutlierGate | None,
) -> Measures:
    """The step itself: it reads nothing of the host that changes from step to step, so that it can be recorded."""
    parameters = optimizer.parameters
    total = accumulate(objective, batches, targets=numbers.targets, scale=scale)
    if numbers.ranks.world_size > 1:
        total = summed(total, parameters, numbers.ranks)
    elif any(isinstance(batch, LeavesWeightsOut) and batch.leaves_weights_out for batch in batches):
        fill_missing(parameters)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    grad_norm, clipped = clip(gradients, unscale=scale.inverse)
    skip_reason = judge(total, grad_norm, scale=scale, gate=gate)
    skip_reason = torch.where(numbers.masked, SkipReason.MASKED.value, skip_reason)
    skipped = skip_reason > 0
    optimizer.update(learning_rate=numbers.learning_rate, skip=skipped)
    if scale.enabled:
        scale.after(must_skip(total.objective, grad_norm))
    clip.after(skipped)
    if gate is not None:
        gate.after(skipped)
    for parameter in parameters:
        parameter.grad = None
    details = clip.details() if isinstance(clip, ReportsDetails) else None
    return Measures(
        total.loss, total.objective.detach(), grad_norm, clipped, skip_reason, total.truncated, details
    )


def fill_missing(parameters: Sequence[Tensor]) -> None:
    """A gradient of zero for each weight that got none, so that every step updates the same weights, however it is cut,
    recorded or distributed over ranks."""
    for parameter in parameters:
        if parameter.grad is None and parameter.requires_grad:
            parameter.grad = torch.zeros_like(parameter)


def report_of(measures: Measures, counts: Counts, *, learning_rate: float) -> StepReport:
    """What a step measured, with what the host knows of it."""
    return StepReport(**measures._asdict(), **counts._asdict(), learning_rate=learning_rate)
