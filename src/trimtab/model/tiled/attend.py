"""Tiled attention as an operator of PyTorch, with its gradient, which compiled blocks call without a break."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.model.sequence_layout import SequenceLayout
from trimtab.model.tiled.tiles import TILES


def fits_tiles(queries: Tensor, of: SequenceLayout, to: SequenceLayout) -> bool:
    """Whether the kernels take heads of this size in this precision, and both layouts are made for them."""
    if of.spans is None or to.spans is None or queries.shape[-1] not in TILES:
        return False
    return _precision(queries) in (torch.bfloat16, torch.float16)


def attend_tiled(
    queries: Float[Tensor, "queries heads size"],
    keys: Float[Tensor, "keys kv_heads size"],
    values: Float[Tensor, "keys kv_heads size"],
    *,
    of: SequenceLayout,
    to: SequenceLayout,
    causal: bool,
) -> Float[Tensor, "queries heads size"]:
    """CUDA and half precision; float32 only where Triton interprets. Gradients have the same bits in every run.

    Kernels for variable lengths give each segment tiles of its own, which a sentence of 25 tokens leaves mostly empty;
    here a tile is a stretch of the flat stream, with as many segments as it happens to hold. Heads may share keys.
    """
    assert of.spans is not None, "a layout without spans"
    assert to.spans is not None, "a layout without spans"
    half = _precision(queries)
    plain = not (torch.is_grad_enabled() or torch.compiler.is_compiling())
    # The operator imports PyTorch's compiler when it is first called, which translating has no use of.
    attend = _forward_tiled if plain else attend_op
    out, _ = attend(queries.to(half), keys.to(half), values.to(half), of.spans, to.spans, causal)
    return out


def _forward_tiled(
    q: Tensor, k: Tensor, v: Tensor, of: Tensor, to: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp of `attend_forward`, in the tiles that suit the size of the heads."""
    from trimtab.model.tiled.forward import attend_forward  # late: needs Triton

    tile = TILES[q.shape[2]].forward
    return attend_forward(*map(_dense_heads, (q, k, v)), of, to, causal=causal, tile=tile)


attend_op = torch.library.custom_op(
    "trimtab::attend_tiled",
    _forward_tiled,
    mutates_args=(),
)


@attend_op.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, of: Tensor, to: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    return q.new_empty(q.shape), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


def _backward_tiled(grad: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of queries, keys and values, from what `Attended` names and `causal`."""
    from trimtab.model.tiled.backward import Attended, gradient_of_queries, gradients_of_keys

    *tensors, causal = rest
    tiles = TILES[tensors[0].shape[2]]
    saved = Attended(*map(_dense_heads, tensors[:3]), *tensors[3:])
    grad = _dense_heads(grad)
    of_queries, inner = gradient_of_queries(grad, saved, causal=causal, tile=tiles.of_queries)
    return of_queries, *gradients_of_keys(grad, inner, saved, causal=causal, tile=tiles.of_keys)


backward_op = torch.library.custom_op(
    "trimtab::attend_tiled_backward",
    _backward_tiled,
    mutates_args=(),
    schema="(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor of, Tensor to, Tensor out, Tensor lse, bool causal)"
    " -> (Tensor, Tensor, Tensor)",
)


@backward_op.register_fake
def _(grad: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) for x in rest[:3])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.causal = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    return *backward_op(grad, *ctx.saved_tensors, ctx.causal), None, None, None


attend_op.register_autograd(_backward, setup_context=_save)


def _precision(queries: Tensor) -> torch.dtype:
    """What autocast makes of the products; without it, what the queries have."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else queries.dtype


def _dense_heads(x: Tensor) -> Tensor:
    """The kernels read each head's values as neighbours; rows and heads may be views of a wider map's output."""
    return x if x.stride(2) == 1 else x.contiguous()
