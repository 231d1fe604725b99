"""The verdict on a step before the update."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.arguments import described, wrong
from trimtab.step.loss_scale import LossScale
from trimtab.step.outlier_gate import OutlierGate
from trimtab.types import LossOutput, SkipReason


def must_skip(objective: Float[Tensor, ""], grad_norm: Float[Tensor, ""]) -> Bool[Tensor, ""]:
    """True where the objective or the gradient norm is not finite; stays on the device.

    The norm is over every gradient, so one bad number anywhere makes it so.
    """
    for name, each in (("objective", objective), ("grad_norm", grad_norm)):
        if not isinstance(each, Tensor) or each.numel() != 1:
            raise wrong(
                f"must_skip: {name}",
                "is no tensor with one number",
                got=described(each),
                allowed="tensors with one number, so that the verdict stays on the device",
                fix="pass the loss and the norm as they were computed, without .item()",
            )
    # A finite number less itself is zero, anything else less itself NaN: fewer operations than asking each of both.
    return (objective - objective) + (grad_norm - grad_norm) != 0


def judge(
    total: LossOutput, grad_norm: Float[Tensor, ""], *, scale: LossScale, gate: OutlierGate | None = None
) -> Int[Tensor, ""]:
    """Why the step must not be applied, as a number of `SkipReason`; 0 where it may. Stays on the device.

    What is not finite is judged before what is large: NaN is above no bound. Without a gate nothing is too large.
    """
    skip_reason = torch.zeros((), dtype=torch.int64, device=grad_norm.device)
    if gate is not None:
        by_loss, by_norm = gate(total.loss, grad_norm)
        skip_reason = skip_reason.masked_fill(by_norm, SkipReason.GRADIENT_SPIKE)
        skip_reason = skip_reason.masked_fill(by_loss, SkipReason.LOSS_SPIKE)
    broken = must_skip(total.objective, grad_norm)
    skip_reason = skip_reason.masked_fill(broken, SkipReason.NOT_FINITE)
    if scale.enabled:
        skip_reason = skip_reason.masked_fill(
            broken & torch.isfinite(total.objective) & (scale.factor > 1), SkipReason.OVERFLOW
        )
    return skip_reason
