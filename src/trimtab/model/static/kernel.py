"""A Triton kernel for attention through the table of ancestors: nothing is gathered, nothing unwritten is read."""
# ruff: noqa: ANN001, ANN201

import math
from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS, WARPS = 32, 2
"""Slots that are read at once, and how many warps do it; not measured yet."""


def attend_by_kernel(q: Tensor, k: Tensor, v: Tensor, ancestors: Tensor, past: Tensor) -> Tensor:
    """See `attend_ancestors`: queries `hypotheses heads size`, keys and values `rows width room kv_heads size`, the
    table `rows width room`; `past` says on the device where the newest token stands."""
    (hypotheses, heads, size), (_, width, memory, kept, _) = q.shape, k.shape
    out = q.new_empty((hypotheses, heads * size))
    with torch.cuda.device_of(q):
        ancestors_kernel[hypotheses, heads](
            *(q, k, v, out, ancestors, past),
            1 / (math.sqrt(size) * math.log(2)),
            *q.stride()[:2],
            *(width, memory, kept),
            GROUP=heads // kept,
            SIZE=size,
            COLUMNS=COLUMNS,
            num_warps=WARPS,
        )
    return out


@triton.jit
@no_type_check
def ancestors_kernel(
    q,
    k,
    v,
    out,
    ancestors,
    past,
    scale,
    q_row,
    q_head,
    width,
    memory,
    kept,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """One head of one hypothesis, with a softmax corrected as larger scores come; they are in units of log 2."""
    hypothesis, head = tl.program_id(0), tl.program_id(1)
    first_of_row = hypothesis // width * width
    count = (tl.load(past) + 1).to(tl.int32)
    inner = tl.arange(0, SIZE)
    query = tl.load(q + hypothesis * q_row + head * q_head + inner).to(tl.float32) * scale
    largest = float("-inf")
    total = 0.0
    mixed = tl.zeros([SIZE], tl.float32)
    for first in range(0, count, COLUMNS):
        times = first + tl.arange(0, COLUMNS)
        inside = times < count
        # 64 bits wide from here on: the caches of large batches have more than 2^31 numbers.
        writers = tl.load(ancestors + hypothesis.to(tl.int64) * memory + times, mask=inside, other=0)
        slots = (first_of_row + writers) * memory + times
        places = (slots * kept + head // GROUP)[:, None] * SIZE + inner[None, :]
        keys = tl.load(k + places, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + places, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(keys * query[None, :], 1), float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 0))
        weights = tl.exp2(scores - larger)
        shrink = tl.exp2(largest - larger)
        total = total * shrink + tl.sum(weights, 0)
        mixed = mixed * shrink + tl.sum(weights[:, None] * values, 0)
        largest = larger
    place = (hypothesis * tl.num_programs(1) + head) * SIZE + inner
    tl.store(out + place, (mixed / total).to(out.dtype.element_ty))
