"""A loss that is a sum over targets: what is no loss at all is refused, and a mean where its graph shows it."""

from collections.abc import Iterator
from typing import Any

from jaxtyping import Float
from torch import Tensor

from trimtab.arguments import described, wrong

MEAN = 1
"""The number of `reduction="mean"` in what autograd saves of a loss."""
SAME_VALUE = ("ToCopy", "View", "UnsafeView", "Squeeze", "Unsqueeze", "Alias", "Clone", "Div")
"""What leaves a mean a mean: another form or precision, and a division, since sums are made by multiplying."""


def summed_loss(loss: Any) -> Float[Tensor, ""]:
    """The loss of a batch, one number that a gradient flows from."""
    name, fix = "accumulate_batches: loss_of(batch)", 'return the loss itself, with reduction="sum"'
    if not isinstance(loss, Tensor):
        objective = getattr(loss, "objective", None)
        inner = (
            "its `.objective`"
            if objective is not None
            else "its `.loss`, as a sum"
            if loss is not None
            else ""
        )
        raise wrong(
            name,
            "is no tensor",
            got=described(loss),
            allowed="a tensor with one number, summed over the targets of the batch",
            fix=f"return {inner}" if inner else fix,
        )
    if loss.numel() != 1:
        raise wrong(
            name,
            "is more than one number",
            got=described(loss),
            allowed="a tensor with one number, summed over the targets of the batch",
            fix='use reduction="sum", or call .sum()',
        )
    if not loss.requires_grad:
        raise wrong(
            name,
            "has no gradient",
            got="a tensor that no parameter leads to",
            allowed="a loss computed with gradients",
            fix="return it as computed, without .detach() or .item(), outside of torch.no_grad()",
        )
    return loss.reshape(())


def refuse_mean(loss: Tensor, *, num_targets: int) -> None:
    """InputError where the loss is visibly a mean over the targets of the batch: by the reduction of PyTorch's own
    losses, or by a mean over as many numbers. What is computed by other means is taken at its word."""
    if num_targets > 1 and any(is_mean(node, num_targets) for node in last_operations(loss.grad_fn)):
        raise wrong(
            "accumulate_batches: loss_of(batch)",
            "is a mean, so that targets of short batches would weigh more",
            got=f"a mean over the {num_targets} targets of the batch, as its graph shows",
            allowed="the loss summed over the targets of the batch",
            fix='use reduction="sum", or multiply the mean by the number of targets. With `labels=`, a model of '
            "transformers gives a mean: compute the loss from its logits, or pass `num_items_in_batch=1` too",
        )


def last_operations(node: Any) -> Iterator[Any]:
    """The operation that made the loss, and those before it that it only changed the form of."""
    while node is not None:
        yield node
        if not node.name().startswith(SAME_VALUE):
            return
        node = next((before for before, _ in node.next_functions if before is not None), None)


def is_mean(node: Any, num_targets: int) -> bool:
    """Whether an operation takes a mean of at least so many numbers."""
    if getattr(node, "_saved_reduction", None) == MEAN:
        return True
    sizes = getattr(node, "_saved_self_sym_sizes", None) if node.name().startswith("Mean") else None
    count = 1
    for size in sizes or ():
        count *= int(size)
    return count >= num_targets and sizes is not None
