"""The backward kernels of tiled attention: each gradient is summed by one program, so the bits are always the same."""
# ruff: noqa: ANN001, ANN201

from typing import NamedTuple, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from trimtab.model.tiled.forward import keys_met, rows_of, scale_of
from trimtab.model.tiled.tiles import Tile


class Attended(NamedTuple):
    """What the forward pass leaves: its inputs and outputs."""

    q: Tensor
    k: Tensor
    v: Tensor
    of: Tensor
    to: Tensor
    out: Tensor
    lse: Tensor


def gradient_of_queries(grad: Tensor, saved: Attended, *, causal: bool, tile: Tile) -> tuple[Tensor, Tensor]:
    """The gradient of the queries, and for each row the inner product of output and gradient, `heads queries`.

    Source: FlashAttention-2, arXiv 2307.08691, algorithm 2, with a loop over the keys instead of atomic additions.
    """
    q, k, v, of, to, out, lse = saved
    tokens, heads, size = q.shape
    found, inner = q.new_empty(q.shape), torch.empty_like(lse)
    with torch.cuda.device_of(q):
        queries_kernel[heads, triton.cdiv(tokens, tile.rows)](
            *(q, k, v, out, grad, lse, inner, found, of, to),
            *(tokens, len(k), scale_of(size)),
            *(*q.stride()[:2], *k.stride()[:2], *v.stride()[:2], *grad.stride()[:2]),
            GROUP=heads // k.shape[1],
            SIZE=size,
            ROWS=tile.rows,
            COLUMNS=tile.columns,
            CAUSAL=causal,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )
    return found, inner


def gradients_of_keys(
    grad: Tensor, inner: Tensor, saved: Attended, *, causal: bool, tile: Tile
) -> tuple[Tensor, Tensor]:
    """The gradients of keys and values, summed over the heads of queries that share them."""
    q, k, v, of, to, _, lse = saved
    (keys, kv_heads, size), tokens = k.shape, len(q)
    found = k.new_empty(k.shape), v.new_empty(v.shape)
    with torch.cuda.device_of(q):
        keys_kernel[kv_heads, triton.cdiv(keys, tile.rows)](
            *(q, k, v, grad, lse, inner, *found, of, to),
            *(tokens, keys, scale_of(size)),
            *(*q.stride()[:2], *k.stride()[:2], *v.stride()[:2], *grad.stride()[:2]),
            GROUP=q.shape[1] // kv_heads,
            SIZE=size,
            ROWS=tile.rows,
            COLUMNS=tile.columns,
            CAUSAL=causal,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )
    return found


@triton.jit
@no_type_check
def queries_kernel(
    q,
    k,
    v,
    out,
    grad,
    lse,
    inner,
    found,
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
    grad_row,
    grad_head,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """One head of one tile of queries; leaves `inner` for the kernel of the keys, which runs after this one."""
    head, begin = tl.program_id(0), tl.program_id(1) * ROWS
    rows = begin + tl.arange(0, ROWS)
    inside = rows < tokens
    low, high, start, stop = keys_met(rows, begin, tokens, num_keys, of, to, ROWS, CAUSAL)
    queries = rows_of(q + head * q_head, rows, q_row, inside, SIZE)
    grads = rows_of(grad + head * grad_head, rows, grad_row, inside, SIZE)
    places = (rows[:, None] * tl.num_programs(0) + head) * SIZE + tl.arange(0, SIZE)[None, :]
    outs = tl.load(out + places, mask=inside[:, None], other=0.0)
    product = tl.sum(outs.to(tl.float32) * grads.to(tl.float32), 1)
    tl.store(inner + head * tokens + rows, product, mask=inside)
    sums = tl.load(lse + head * tokens + rows, mask=inside, other=float("inf"))
    k += head // GROUP * k_head
    v += head // GROUP * v_head
    turned = tl.zeros([ROWS, SIZE], tl.float32)
    for first in range(start, stop, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        keys = rows_of(k, columns, k_row, columns < stop, SIZE)
        values = rows_of(v, columns, v_row, columns < stop, SIZE)
        seen = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
        scores = tl.dot(queries, tl.trans(keys)) * scale
        weights = tl.exp2(tl.where(seen, scores - sums[:, None], float("-inf")))
        pulls = weights * (tl.dot(grads, tl.trans(values)) - product[:, None])
        turned += tl.dot(pulls.to(keys.dtype), keys)
    turned *= scale * 0.6931471805599453  # log 2: `scale` is in units of it
    tl.store(found + places, turned.to(found.dtype.element_ty), mask=inside[:, None])


@triton.jit
@no_type_check
def keys_kernel(
    q,
    k,
    v,
    grad,
    lse,
    inner,
    of_keys,
    of_values,
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
    grad_row,
    grad_head,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """One head of one tile of keys and values: the roles exchanged, so scores lie on their side, keys by queries."""
    head, begin = tl.program_id(0), tl.program_id(1) * ROWS
    rows = begin + tl.arange(0, ROWS)
    inside = rows < num_keys
    # The same call with keys and queries exchanged; under a causal mask a key meets queries from its own place on.
    low, high, start, stop = keys_met(rows, begin, num_keys, tokens, to, of, ROWS, False)
    if CAUSAL:
        low, start = rows, begin
    keys = rows_of(k + head * k_head, rows, k_row, inside, SIZE)
    values = rows_of(v + head * v_head, rows, v_row, inside, SIZE)
    keys_pulled = tl.zeros([ROWS, SIZE], tl.float32)
    values_pulled = tl.zeros([ROWS, SIZE], tl.float32)
    for member in range(GROUP):
        each = head * GROUP + member
        for first in range(start, stop, COLUMNS):
            columns = first + tl.arange(0, COLUMNS)
            real = columns < stop
            queries = rows_of(q + each * q_head, columns, q_row, real, SIZE)
            grads = rows_of(grad + each * grad_head, columns, grad_row, real, SIZE)
            sums = tl.load(lse + each * tokens + columns, mask=real, other=float("inf"))
            product = tl.load(inner + each * tokens + columns, mask=real, other=0.0)
            seen = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
            scores = tl.dot(keys, tl.trans(queries)) * scale
            weights = tl.exp2(tl.where(seen, scores - sums[None, :], float("-inf")))
            values_pulled += tl.dot(weights.to(grads.dtype), grads)
            pulls = weights * (tl.dot(values, tl.trans(grads)) - product[None, :])
            keys_pulled += tl.dot(pulls.to(queries.dtype), queries)
    keys_pulled *= scale * 0.6931471805599453
    places = (rows[:, None] * tl.num_programs(0) + head) * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(of_keys + places, keys_pulled.to(of_keys.dtype.element_ty), mask=inside[:, None])
    tl.store(of_values + places, values_pulled.to(of_values.dtype.element_ty), mask=inside[:, None])
