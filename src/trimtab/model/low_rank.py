"""A frozen linear map with a trained product of two thin matrices beside it, in few large products.

Written out, the thin products write and read the map's whole output once more, which costs more time than they have
arithmetic. Here the second one shares the frozen map's product: `x W^T + (x A^T) B^T = [x, x A^T] [W, B]^T`.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def with_low_rank(
    input: Float[Tensor, "*rows dim"],
    weight: Float[Tensor, "out dim"],
    first: Float[Tensor, "rank dim"],
    second: Float[Tensor, "out rank"],
    bias: Float[Tensor, "out"] | None = None,
) -> Float[Tensor, "*rows out"]:
    """`input weight^T + (input first^T) second^T + bias`, in autocast's precision where it is on.

    `weight` and `bias` are constants: gradients go to the input and to the thin matrices alone. In half precision on a
    GPU a map that widens is one product with the second thin matrix; elsewhere the thin product is added to the frozen
    one, so that a thin matrix of zeros changes no bit. ValueError where a gradient of a constant would be left out.
    """
    if torch.is_grad_enabled() and (weight.requires_grad or (bias is not None and bias.requires_grad)):
        raise ValueError("the weight or the bias is trained; allowed is a frozen map")
    device = input.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else input.dtype
    rows = input.to(dtype).flatten(0, -2)
    joined = dtype.itemsize < 4 and device == "cuda" and len(weight) >= weight.shape[1]
    mapped = _WithLowRank.apply(rows, weight.to(dtype), first.to(dtype), second.to(dtype), joined)
    mapped = mapped.unflatten(0, input.shape[:-1])
    return mapped if bias is None else mapped + bias.to(dtype)


class _WithLowRank(torch.autograd.Function):
    """Both products; the backward pass needs no gradient of the frozen matrix."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, first: Tensor, second: Tensor, joined: bool
    ) -> Tensor:
        """Rows of the output."""
        low = rows @ first.T
        ctx.save_for_backward(rows, low, weight, first, second)
        if joined:
            return torch.cat([rows, low], dim=1) @ torch.cat([weight, second], dim=1).T
        return rows @ weight.T + low @ second.T  # a sum that compilation fuses with what follows

    @staticmethod
    def backward(ctx: Any, by_mapped: Tensor) -> tuple[Tensor | None, ...]:
        """By the rows and by both thin matrices."""
        rows, low, weight, first, second = ctx.saved_tensors
        by_low = by_mapped @ second
        by_rows = by_mapped @ weight + by_low @ first if ctx.needs_input_grad[0] else None
        return by_rows, None, by_low.T @ rows, by_mapped.T @ low, None
