"""Exact accumulation for somebody's own loop, whose batches are whatever they are."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

Batch = TypeVar("Batch")


def accumulate_batches(
    loss_of: Callable[[Batch], Tensor], batches: Sequence[Batch], *, num_targets: Callable[[Batch], int]
) -> Float[Tensor, ""]:
    """Adds d(mean loss per target) to the gradients, one micro-batch at a time, and gives that mean, detached.

    `loss_of` gives a batch's loss *summed* over its targets (`reduction="sum"`), `num_targets` how many there are. The
    divisor is the number of all targets together, so the gradient is that of one large batch, however it is cut; a mean
    over means would weigh the targets of short batches more. Calls `backward` once for each batch, never the optimizer.
    """
    assert batches, "a step has at least one micro-batch"
    targets = max(1, sum(num_targets(batch) for batch in batches))
    total: Tensor | None = None
    for batch in batches:
        share = loss_of(batch) / targets
        share.backward()
        total = share.detach() if total is None else total + share.detach()
    assert total is not None
    return total.to(torch.promote_types(total.dtype, torch.float32))
