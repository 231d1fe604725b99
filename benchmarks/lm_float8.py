"""Products of a linear map in float8, forward and backward, each tensor with one scale: NVIDIA Hopper and later.

Values of weights, activations and gradients are float8_e4m3fn after division by a scale that brings the largest of them
to the largest number that there is; sums are float32 or nearly so, results bfloat16. The scale is that of the tensor at
hand. Sources: FP8 Formats for Deep Learning, arXiv 2209.05433; dynamic scaling as in torchao's `tensorwise` recipe.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

LARGEST = 448.0
"""Of float8_e4m3fn."""
LEAST = 1e-12
"""The largest absolute value of a tensor is taken to be at least this."""


def float8_product(
    x: Float[Tensor, "tokens inputs"], weight: Float[Tensor, "outputs inputs"]
) -> Float[Tensor, "tokens outputs"]:
    """`x @ weight.T` in bfloat16, whose three products, that of the result and those of both gradients, have their
    factors in float8. Sizes must be multiples of 16."""
    return Float8Product.apply(x, weight)


class Float8Product(torch.autograd.Function):
    """Keeps what it was given in half precision; the backward pass rounds it again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """The product."""
        x, half = x.to(torch.bfloat16), weight.to(torch.bfloat16)
        ctx.save_for_backward(x, half)
        ctx.weight_dtype = weight.dtype
        return product(x, half.t())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Of the input and the weight."""
        x, weight = ctx.saved_tensors
        gradient = gradient.to(torch.bfloat16)
        return product(gradient, weight), product(gradient.t(), x).to(ctx.weight_dtype)


def product(left: Float[Tensor, "rows inner"], right: Float[Tensor, "inner columns"]) -> Tensor:
    """`left @ right` of two tensors in bfloat16, by way of float8."""
    left_scale, right_scale = scale_of(left), scale_of(right)
    # The kernels want the inner dimension side by side in both.
    left8 = rounded(left, left_scale).contiguous()
    right8 = rounded(right.t(), right_scale).contiguous().t()
    if left.is_cuda:
        return torch._scaled_mm(
            left8,
            right8,
            scale_a=left_scale,
            scale_b=right_scale,
            out_dtype=torch.bfloat16,
            use_fast_accum=True,
        )
    # The slow twin, where there is no such kernel: the same rounded factors, sums in float32.
    return ((left8.float() @ right8.float()) * (left_scale * right_scale)).to(torch.bfloat16)


def scale_of(x: Tensor) -> Float[Tensor, ""]:
    """What its values are divided by."""
    return x.abs().amax().float().clamp(min=LEAST) / LARGEST


def rounded(x: Tensor, scale: Float[Tensor, ""]) -> Tensor:
    """Its values by the scale in float8, none beyond the largest number."""
    return (x.float() / scale).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
