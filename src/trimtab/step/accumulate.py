"""Gradients of a whole window, one micro-batch at a time, divided once by the window's number of targets."""

from collections.abc import Callable, Sequence

from trimtab.flow import LossOutput, Pack
from trimtab.step.loss_scale import LossScale


def accumulate(
    objective: Callable[[Pack], LossOutput], packs: Sequence[Pack], *, scale: LossScale | None = None
) -> LossOutput:
    """Adds d(objective / targets) to the gradients and gives the mean loss and objective per target.

    Each micro-batch gives a *sum*; the divisor, the targets of all of them, is known before the first backward. So
    the gradient does not depend on how the window is cut (with dropout off, up to the order of additions). A mean
    over means would weigh targets of short micro-batches more: see "Why accumulation goes wrong" in the README.
    """
    targets = max(1, sum(pack.num_targets for pack in packs))
    total = None
    for pack in packs:
        part = objective(pack)
        share = part.objective / targets
        (share if scale is None else scale.up(share)).backward()
        loss, whole = part.loss.detach() / targets, share.detach()
        total = (
            LossOutput(whole, loss)
            if total is None
            else LossOutput(total.objective + whole, total.loss + loss)
        )
    assert total is not None, "a window has at least one pack"
    return total
