"""One step, five verbs: accumulate, clip, judge, optimise, report."""

from collections.abc import Callable, Sequence

from trimtab.flow import LossOutput, Pack, StepReport
from trimtab.step.accumulate import accumulate
from trimtab.step.clip.protocol import Clip
from trimtab.step.judge import judge, must_skip
from trimtab.step.loss_scale import LossScale
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
    parameters = optimizer.parameters
    total = accumulate(objective, packs, scale=scale)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    grad_norm, clipped = clip(gradients, unscale=scale.inverse)
    refusal = judge(total, grad_norm, scale=scale, gate=gate)
    skipped = refusal > 0
    optimizer.update(learning_rate=learning_rate, skip=skipped)
    if scale.enabled:
        scale.after(must_skip(total.objective, grad_norm))
    clip.after(skipped)
    if gate is not None:
        gate.after(skipped)
    for parameter in parameters:
        parameter.grad = None
    return StepReport(
        loss=total.loss,
        objective=total.objective.detach(),
        grad_norm=grad_norm,
        clipped=clipped,
        refusal=refusal,
        learning_rate=learning_rate,
        num_targets=sum(pack.num_targets for pack in packs),
        num_tokens=sum(pack.num_tokens for pack in packs),
        truncated=total.truncated,
    )
