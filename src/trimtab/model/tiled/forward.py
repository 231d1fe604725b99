"""The forward kernel of tiled attention, and what the kernels share: which rows of the other stream a row meets."""
# ruff: noqa: ANN001, ANN201

import math
from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from trimtab.model.tiled.tiles import Tile


def attend_forward(
    q: Tensor, k: Tensor, v: Tensor, of: Tensor, to: Tensor, *, causal: bool, tile: Tile
) -> tuple[Tensor, Tensor]:
    """The mixed values, `queries heads size`, and the log-sum-exp of each row's scores in base 2, `heads queries`.

    A tile of `tile.rows` queries meets the keys from the first one of its first segment to the last one of its last
    segment, `tile.columns` at a time, and hides those of other segments. `of` and `to` are the layouts' spans.
    """
    tokens, heads, size = q.shape
    out, lse = q.new_empty(q.shape), q.new_empty((heads, tokens), dtype=torch.float32)
    with torch.cuda.device_of(q):
        forward_kernel[heads, triton.cdiv(tokens, tile.rows)](
            *(q, k, v, out, lse, of, to),
            *(tokens, len(k), scale_of(size)),
            *(*q.stride()[:2], *k.stride()[:2], *v.stride()[:2]),
            GROUP=heads // k.shape[1],
            SIZE=size,
            ROWS=tile.rows,
            COLUMNS=tile.columns,
            CAUSAL=causal,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )
    return out, lse


def scale_of(size: int) -> float:
    """What scores are multiplied with: 1 / √size, in units of log 2, since 2^x is the exponential that GPUs have."""
    return 1 / (math.sqrt(size) * math.log(2))


@triton.jit
@no_type_check
def keys_met(rows, begin, tokens, num_keys, of, to, ROWS: tl.constexpr, CAUSAL: tl.constexpr):
    """For each query the first key that it meets and the one after the last; the same for the whole tile."""
    inside = rows < tokens
    ends = to + num_keys  # the offsets follow the segment numbers
    segment = tl.load(of + rows, mask=inside, other=0)
    low = tl.load(ends + segment, mask=inside, other=0)
    last = tl.minimum(begin + ROWS, tokens) - 1
    start = tl.load(ends + tl.load(of + begin))
    if CAUSAL:
        high = tl.where(inside, rows + 1, 0)
        stop = last + 1
    else:
        high = tl.load(ends + segment + 1, mask=inside, other=0)
        stop = tl.load(ends + tl.load(of + last) + 1)
    return low, high, start, stop


@triton.jit
@no_type_check
def rows_of(x, rows, row_stride, inside, SIZE: tl.constexpr):
    """These rows of one head, zeros where they lie outside."""
    places = rows[:, None] * row_stride + tl.arange(0, SIZE)[None, :]
    return tl.load(x + places, mask=inside[:, None], other=0.0)


@triton.jit
@no_type_check
def forward_kernel(
    q,
    k,
    v,
    out,
    lse,
    of,
    to,
    tokens,
    num_keys,
    scale,
    q_row,
    q_head,
    k_row,
    k_head,
    v_row,
    v_head,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """One head of one tile of queries, with a softmax that is corrected as larger scores come."""
    head, begin = tl.program_id(0), tl.program_id(1) * ROWS
    rows = begin + tl.arange(0, ROWS)
    low, high, start, stop = keys_met(rows, begin, tokens, num_keys, of, to, ROWS, CAUSAL)
    queries = rows_of(q + head * q_head, rows, q_row, rows < tokens, SIZE)
    k += head // GROUP * k_head
    v += head // GROUP * v_head
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, SIZE], tl.float32)
    for first in range(start, stop, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        keys = rows_of(k, columns, k_row, columns < stop, SIZE)
        values = rows_of(v, columns, v_row, columns < stop, SIZE)
        seen = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
        scores = tl.where(seen, tl.dot(queries, tl.trans(keys)) * scale, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        # A row that has met no key yet would subtract infinity from infinity.
        shift = tl.where(larger == float("-inf"), 0.0, larger)
        weights = tl.exp2(scores - shift[:, None])
        shrink = tl.exp2(largest - shift)
        total = total * shrink + tl.sum(weights, 1)
        mixed = mixed * shrink[:, None] + tl.dot(weights.to(values.dtype), values)
        largest = larger
    inside = rows < tokens
    met = total > 0
    total = tl.where(met, total, 1.0)
    # A row without any key gets zeros; its infinite sum makes all its weights zero in the backward kernels.
    tl.store(lse + head * tokens + rows, tl.where(met, largest + tl.log2(total), float("inf")), mask=inside)
    places = (rows[:, None] * tl.num_programs(0) + head) * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(out + places, (mixed / total[:, None]).to(out.dtype.element_ty), mask=inside[:, None])
