"""SwiGLU as Triton kernels: one pass forward, one backward, over the output of the fused map of gate and values."""
# ruff: noqa: ANN001, ANN201

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

COLUMNS, WARPS = 1024, 4
"""Of a row at once; a narrower one takes the next power of two."""


def swiglu_forward(both: Float[Tensor, "rows two_width"]) -> Float[Tensor, "rows width"]:
    """`silu(gate) * value` of each row, which holds the gate and then the values."""
    rows, width = len(both), both.shape[1] // 2
    out = both.new_empty((rows, width))
    columns = min(COLUMNS, triton.next_power_of_2(width))
    with torch.cuda.device_of(both):
        forward_kernel[rows, triton.cdiv(width, columns)](
            both, out, both.stride(0), width, COLUMNS=columns, num_warps=WARPS
        )
    return out


def swiglu_backward(
    gradient: Float[Tensor, "rows width"], both: Float[Tensor, "rows two_width"]
) -> Float[Tensor, "rows two_width"]:
    """The gradient of `both`."""
    rows, width = gradient.shape
    found = torch.empty_like(both, memory_format=torch.contiguous_format)
    columns = min(COLUMNS, triton.next_power_of_2(width))
    with torch.cuda.device_of(both):
        backward_kernel[rows, triton.cdiv(width, columns)](
            *(gradient, both, found),
            *(gradient.stride(0), both.stride(0), width),
            COLUMNS=columns,
            num_warps=WARPS,
        )
    return found


@triton.jit
@no_type_check
def forward_kernel(both, out, row_stride, width, COLUMNS: tl.constexpr):
    """Some columns of one row."""
    row = tl.program_id(0).to(tl.int64)
    places = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = places < width
    gate = tl.load(both + row * row_stride + places, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(both + row * row_stride + width + places, mask=inside, other=0.0).to(tl.float32)
    opened = gate / (1 + tl.exp(-gate)) * value
    tl.store(out + row * width + places, opened.to(out.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def backward_kernel(gradient, both, found, gradient_stride, row_stride, width, COLUMNS: tl.constexpr):
    """The gradients of some columns of gate and values of one row."""
    row = tl.program_id(0).to(tl.int64)
    places = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = places < width
    given = tl.load(gradient + row * gradient_stride + places, mask=inside, other=0.0).to(tl.float32)
    gate = tl.load(both + row * row_stride + places, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(both + row * row_stride + width + places, mask=inside, other=0.0).to(tl.float32)
    share = 1 / (1 + tl.exp(-gate))
    of_gate = given * value * share * (1 + gate * (1 - share))
    of_value = given * gate * share
    first = found + row * 2 * width + places
    tl.store(first, of_gate.to(found.dtype.element_ty), mask=inside)
    tl.store(first + width, of_value.to(found.dtype.element_ty), mask=inside)
