"""What is no loss of one micro-batch: refused with what to return in its place."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor

from trimtab.arguments import described, wrong

NAME = "accumulate_batches: loss_of(batch)"
ALLOWED = "a tensor with one number, summed over the targets of the batch"


def summed_loss(loss: Any, *, num_targets: int) -> Float[Tensor, ""]:
    """The loss of a batch, one number that a gradient flows from; zero where there is nothing to sum over."""
    if not isinstance(loss, Tensor):
        raise wrong(NAME, "is no tensor", got=described(loss), allowed=ALLOWED, fix=in_place_of(loss))
    if loss.numel() != 1:
        fix = 'use reduction="sum", or call .sum()'
        raise wrong(NAME, "is more than one number", got=described(loss), allowed=ALLOWED, fix=fix)
    if not loss.requires_grad:
        raise wrong(
            NAME,
            "has no gradient",
            got="a tensor that no parameter leads to",
            allowed="a loss computed with gradients",
            fix="return it as computed, without .detach() or .item(), outside of torch.no_grad()",
        )
    if num_targets == 0 and abs(value := float(loss.detach())) > 0:
        raise wrong(
            "accumulate_batches: num_targets(batch)",
            "is 0 for a batch with a loss",
            got=f"no target and a loss of {value:g}",
            allowed="the number of targets that the loss is summed over; without any, the sum is 0",
            fix="count every label that is not ignored, and multiply terms of another kind by that number",
        )
    return loss.reshape(())


def in_place_of(loss: Any) -> str:
    """What to return in place of something that is no tensor."""
    if isinstance(loss, tuple | list):
        return "return the loss alone, without the rest of the tuple"
    if isinstance(loss, float | int):
        return "return the tensor itself, without .item() or float()"
    if hasattr(loss, "objective"):
        return "return its `.objective`"
    if hasattr(loss, "loss"):
        return "return its `.loss`, as a sum"
    if isinstance(loss, Mapping):
        return 'return its ["loss"], as a sum'
    return 'return the loss itself, with reduction="sum"'
