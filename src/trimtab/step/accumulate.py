"""Gradients of a whole step, one micro-batch at a time, divided once by the step's number of targets."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.step.loss_scale import LossScale
from trimtab.types import Batch, LossOutput


def accumulate(
    objective: Callable[[Batch], LossOutput],
    batches: Sequence[Batch],
    *,
    targets: Float[Tensor, ""] | None = None,
    scale: LossScale | None = None,
) -> LossOutput:
    """Adds d(objective / targets) to the gradients and gives the mean loss and objective per target, and the number of
    truncated ones, which count in the divisor anyway. `targets` is the divisor where it is on the device already;
    with it there may be no micro-batch at all, which adds nothing.

    Each micro-batch gives a *sum*; the divisor, the targets of all of them, is known before the first backward. So
    the gradient does not depend on how the step is cut (with dropout off, up to the order of additions). A mean
    over means would weigh targets of short micro-batches more: see "Gradient accumulation" in docs/how_it_works.md.
    """
    divisor = max(1, sum(batch.num_targets for batch in batches)) if targets is None else targets
    total = None
    for batch in batches:
        part = objective(batch)
        share = part.objective / divisor
        (share if scale is None else scale.up(share)).backward()
        mean = LossOutput(share.detach(), part.loss.detach() / divisor, part.truncated)
        total = mean if total is None else added(total, mean)
    if total is None:
        assert targets is not None, "a step of one rank has at least one micro-batch"
        return LossOutput(torch.zeros_like(targets), torch.zeros_like(targets))
    return total


def added(first: LossOutput, second: LossOutput) -> LossOutput:
    """The sum of both; labels that a loss does not count as truncated are none."""
    counts = [part.truncated for part in (first, second) if part.truncated is not None]
    truncated = sum(counts[1:], counts[0]) if counts else None
    return LossOutput(first.objective + second.objective, first.loss + second.loss, truncated)
