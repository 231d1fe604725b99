"""Gradients of a whole window, one micro-batch at a time, divided once by the window's number of targets."""

from collections.abc import Callable, Sequence

from jaxtyping import Float
from torch import Tensor

from trimtab.flow import LossOutput, Pack
from trimtab.step.loss_scale import LossScale


def accumulate(
    objective: Callable[[Pack], LossOutput],
    packs: Sequence[Pack],
    *,
    targets: Float[Tensor, ""] | None = None,
    scale: LossScale | None = None,
) -> LossOutput:
    """Adds d(objective / targets) to the gradients and gives the mean loss and objective per target, and the number of
    truncated ones, which count in the divisor all the same. `targets` is the divisor where it is on the device already.

    Each micro-batch gives a *sum*; the divisor, the targets of all of them, is known before the first backward. So
    the gradient does not depend on how the window is cut (with dropout off, up to the order of additions). A mean
    over means would weigh targets of short micro-batches more: see "Why accumulation goes wrong" in the README.
    """
    divisor = max(1, sum(pack.num_targets for pack in packs)) if targets is None else targets
    total = None
    for pack in packs:
        part = objective(pack)
        share = part.objective / divisor
        (share if scale is None else scale.up(share)).backward()
        mean = LossOutput(share.detach(), part.loss.detach() / divisor, part.truncated)
        total = mean if total is None else together(total, mean)
    assert total is not None, "a window has at least one pack"
    return total


def together(first: LossOutput, second: LossOutput) -> LossOutput:
    """The sum of both; labels that a loss does not count as truncated are none."""
    counts = [part.truncated for part in (first, second) if part.truncated is not None]
    truncated = sum(counts[1:], counts[0]) if counts else None
    return LossOutput(first.objective + second.objective, first.loss + second.loss, truncated)
