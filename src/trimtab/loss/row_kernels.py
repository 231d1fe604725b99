"""The two functions of `rows` as Triton kernels: one pass over a piece of the logits each, in their own memory."""
# ruff: noqa: ANN001, ANN201

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.loss.rows import RowFunctions, Sums
from trimtab.loss.terms import Terms
from trimtab.types import IGNORE

COLUMNS = 2048
"""Of a row at once; a narrower piece takes the next power of two."""
WARPS = 4


def add_to_sums(
    logits: Float[Tensor, "tokens rows"],
    labels: Int[Tensor, "tokens"],
    sums: Sums,
    *,
    first_row: int,
    terms: Terms,
) -> None:
    """See `rows.add_to_sums`."""
    tokens, rows = logits.shape
    with torch.cuda.device_of(logits):
        sums_kernel[(tokens,)](
            *(logits, labels, sums),
            *(logits.stride(0), sums.stride(0), first_row, min(rows, terms.num_ids - first_row)),
            SMOOTHS=terms.label_smoothing > 0,
            TRUNCATES=terms.truncates,
            COLUMNS=min(COLUMNS, triton.next_power_of_2(rows)),
            num_warps=WARPS,
        )


def to_gradient(
    logits: Float[Tensor, "tokens rows"],
    labels: Int[Tensor, "tokens"],
    sums: Sums,
    *,
    first_row: int,
    terms: Terms,
) -> None:
    """See `rows.to_gradient`."""
    tokens, rows = logits.shape
    columns = min(COLUMNS, triton.next_power_of_2(rows))
    with torch.cuda.device_of(logits):
        gradient_kernel[tokens, triton.cdiv(rows, columns)](
            *(logits, labels, sums),
            *(logits.stride(0), sums.stride(0), first_row, rows, terms.num_ids),
            *(terms.label_smoothing, terms.z_loss, terms.truncate_above),
            TRUNCATES=terms.truncates,
            IGNORE=IGNORE,
            COLUMNS=columns,
            num_warps=WARPS,
        )


@triton.jit
@no_type_check
def sums_kernel(
    logits,
    labels,
    sums,
    row_stride,
    sum_stride,
    first_row,
    columns,
    SMOOTHS: tl.constexpr,
    TRUNCATES: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The sums of one token, taken on by a piece of its logits."""
    token = tl.program_id(0).to(tl.int64)
    row = logits + token * row_stride
    sums += token
    largest, total = tl.load(sums), tl.load(sums + sum_stride)
    squares, plain = tl.load(sums + 2 * sum_stride), tl.load(sums + 3 * sum_stride)
    for first in range(0, columns, COLUMNS):
        places = first + tl.arange(0, COLUMNS)
        inside = places < columns
        x = tl.load(row + places, mask=inside, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(x, 0))
        shrink = tl.exp(largest - larger)
        powers = tl.exp(x - larger)
        total = total * shrink + tl.sum(powers, 0)
        if TRUNCATES:
            squares = squares * shrink * shrink + tl.sum(powers * powers, 0)
        if SMOOTHS:
            plain += tl.sum(tl.where(inside, x, 0.0), 0)
        largest = larger
    tl.store(sums, largest)
    tl.store(sums + sum_stride, total)
    if TRUNCATES:
        tl.store(sums + 2 * sum_stride, squares)
    if SMOOTHS:
        tl.store(sums + 3 * sum_stride, plain)
    place = tl.load(labels + token) - first_row
    if (place >= 0) & (place < columns):
        tl.store(sums + 4 * sum_stride, tl.load(row + place).to(tl.float32))


@triton.jit
@no_type_check
def gradient_kernel(
    logits,
    labels,
    sums,
    row_stride,
    sum_stride,
    first_row,
    rows,
    num_ids,
    smoothing,
    z_loss,
    truncate_above,
    TRUNCATES: tl.constexpr,
    IGNORE: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Some columns of one token's logits become their gradient."""
    token = tl.program_id(0).to(tl.int64)
    places = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    label = tl.load(labels + token)
    sums += token
    largest, total = tl.load(sums), tl.load(sums + sum_stride)
    log_z = largest + tl.log(total)
    keeps = label != IGNORE
    if TRUNCATES:
        chance = tl.exp(tl.load(sums + 4 * sum_stride) - largest) / total
        square = tl.load(sums + 2 * sum_stride) / (total * total) - 2 * chance + 1
        keeps = keeps & (tl.sqrt(tl.maximum(square, 0.0)) <= truncate_above)
    row = logits + token * row_stride + places
    inside = places < rows
    x = tl.load(row, mask=inside, other=0.0).to(tl.float32)
    gradient = tl.exp(x - log_z) * (1 + 2 * z_loss * log_z) - smoothing / num_ids
    gradient = tl.where(places + first_row == label, gradient + (smoothing - 1), gradient)
    gradient = tl.where(keeps & (places + first_row < num_ids), gradient, 0.0)
    tl.store(row, gradient.to(logits.dtype.element_ty), mask=inside)


KERNELS = RowFunctions(add_to_sums, to_gradient)
