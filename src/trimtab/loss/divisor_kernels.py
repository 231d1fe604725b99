"""The softmax divisors of one head over packed segments and their gradients, as Triton kernels: tiles of the flat
streams, so that no token meets those of segments far from its own."""
# ruff: noqa: ANN001, ANN201

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int32
from torch import Tensor

ROWS, COLUMNS = 64, 32
WARPS = 4


def log_divisors(
    queries: Float[Tensor, "rows size"],
    keys: Float[Tensor, "columns size"],
    met: Int32[Tensor, "2 rows"],
    *,
    scale: float,
) -> Float[Tensor, "rows"]:
    """For each query the logarithm of the sum of exp(scale * query * key) over the keys from `met[0]` to before
    `met[1]`, both of which never fall from row to row; 0 where there are none. Products and sums are float32."""
    rows, size = queries.shape
    found = torch.empty(rows, dtype=torch.float32, device=queries.device)
    with torch.cuda.device_of(queries):
        divisors_kernel[(triton.cdiv(rows, ROWS),)](
            *(queries, keys, met, found, rows, scale, queries.stride(0), keys.stride(0)),
            **_sizes(size),
        )
    return found


def weighted_sums(
    rows: Float[Tensor, "rows size"],
    columns: Float[Tensor, "columns size"],
    met: Int32[Tensor, "2 rows"],
    *,
    scale: float,
    divisors: Float[Tensor, "queries"],
    grad: Float[Tensor, "queries"],
    of_keys: bool,
) -> Float[Tensor, "rows size"]:
    """The gradient of each row: of the columns that it meets the sum, each times scale, its share in the softmax and
    the gradient of the divisor. Rows are queries and columns keys, or with `of_keys` the other way round."""
    num_rows, size = rows.shape
    found = torch.empty((num_rows, size), dtype=torch.float32, device=rows.device)
    with torch.cuda.device_of(rows):
        sums_kernel[(triton.cdiv(num_rows, ROWS),)](
            *(rows, columns, met, divisors, grad, found, num_rows, scale),
            *(rows.stride(0), columns.stride(0)),
            OF_KEYS=of_keys,
            **_sizes(size),
        )
    return found


def _sizes(size: int) -> dict[str, int]:
    return {
        "SIZE": size,
        "WIDE": max(16, triton.next_power_of_2(size)),
        "ROWS": ROWS,
        "COLUMNS": COLUMNS,
        "num_warps": WARPS,
    }


@triton.jit
@no_type_check
def rows_of(x, rows, stride, inside, SIZE: tl.constexpr, WIDE: tl.constexpr):
    """These rows in float32, zeros where they lie outside."""
    places = tl.arange(0, WIDE)
    seen = inside[:, None] & (places < SIZE)[None, :]
    return tl.load(x + rows[:, None] * stride + places[None, :], mask=seen, other=0.0).to(tl.float32)


@triton.jit
@no_type_check
def divisors_kernel(
    queries,
    keys,
    met,
    found,
    num_rows,
    scale,
    query_stride,
    key_stride,
    SIZE: tl.constexpr,
    WIDE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One tile of queries, with a sum that is corrected as larger scores come."""
    begin = tl.program_id(0) * ROWS
    rows = begin + tl.arange(0, ROWS)
    inside = rows < num_rows
    low = tl.load(met + rows, mask=inside, other=0)
    high = tl.load(met + num_rows + rows, mask=inside, other=0)
    start = tl.load(met + begin)
    stop = tl.load(met + num_rows + tl.minimum(begin + ROWS, num_rows) - 1)
    mine = rows_of(queries, rows, query_stride, inside, SIZE, WIDE)
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    for first in range(start, stop, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        theirs = rows_of(keys, columns, key_stride, columns < stop, SIZE, WIDE)
        seen = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
        scores = tl.dot(mine, tl.trans(theirs), input_precision="ieee") * scale
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(largest, tl.max(scores, 1))
        # Before the first score of a row both are minus infinity, whose difference is no number.
        known = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(largest - known) + tl.sum(tl.exp(scores - known[:, None]), 1)
        largest = higher
    logarithm = tl.where(total > 0, largest + tl.log(tl.where(total > 0, total, 1.0)), 0.0)
    tl.store(found + rows, logarithm, mask=inside)


@triton.jit
@no_type_check
def sums_kernel(
    mine,
    theirs,
    met,
    divisors,
    grad,
    found,
    num_rows,
    scale,
    my_stride,
    their_stride,
    OF_KEYS: tl.constexpr,
    SIZE: tl.constexpr,
    WIDE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One tile of rows, each summed by one program, so that the bits are always the same."""
    begin = tl.program_id(0) * ROWS
    rows = begin + tl.arange(0, ROWS)
    inside = rows < num_rows
    low = tl.load(met + rows, mask=inside, other=0)
    high = tl.load(met + num_rows + rows, mask=inside, other=0)
    start = tl.load(met + begin)
    stop = tl.load(met + num_rows + tl.minimum(begin + ROWS, num_rows) - 1)
    own = rows_of(mine, rows, my_stride, inside, SIZE, WIDE)
    if not OF_KEYS:
        divisor = tl.load(divisors + rows, mask=inside, other=0.0)[:, None]
        pull = tl.load(grad + rows, mask=inside, other=0.0)[:, None]
    total = tl.zeros([ROWS, WIDE], tl.float32)
    for first in range(start, stop, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        real = columns < stop
        others = rows_of(theirs, columns, their_stride, real, SIZE, WIDE)
        if OF_KEYS:
            divisor = tl.load(divisors + columns, mask=real, other=0.0)[None, :]
            pull = tl.load(grad + columns, mask=real, other=0.0)[None, :]
        seen = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
        scores = tl.dot(own, tl.trans(others), input_precision="ieee") * scale
        shares = tl.exp(tl.where(seen, scores - divisor, float("-inf"))) * pull
        total += tl.dot(shares, others, input_precision="ieee")
    places = tl.arange(0, WIDE)
    seen = inside[:, None] & (places < SIZE)[None, :]
    tl.store(found + rows[:, None] * SIZE + places[None, :], total * scale, mask=seen)
