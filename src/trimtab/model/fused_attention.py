"""Wraps a library's forward and backward kernels for packed sequences as one operator for autograd and
torch.compile."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.library import custom_op

Forward = Callable[..., tuple[Tensor, Tensor]]
Backward = Callable[..., tuple[Tensor, Tensor, Tensor]]
Attend = Callable[..., Tensor]
"""Called as `trimtab.model.attention.attend` is; takes queries, keys and values in half precision."""
SEGMENTS = "Tensor of, Tensor to, SymInt longest, SymInt longest_key, bool causal"


@runtime_checkable
class Segments(Protocol):
    """A `trimtab.model.sequence_layout.Layout`, as far as a kernel needs it."""

    @property
    def cu_seqlens(self) -> Tensor:
        """Where each segment begins, and where the last one ends."""
        ...

    @property
    def max_seqlen(self) -> int:
        """No segment is longer."""
        ...


def fused_attention(name: str, forward: Forward, backward: Backward, *, device: str = "cuda") -> Attend:
    """Attention by `forward`, which is given queries, keys, values, both boundaries, the longest segment of either
    side and whether it is causal, and gives the output and the logarithms of the sums of the softmax, in any order of
    its own, one for each query and head; and by `backward`, which is given the gradient of the output, queries, keys,
    values, output and sums before the same rest."""
    forward_op = custom_op(
        f"trimtab::{name}",
        lambda *given: forward(*given),
        mutates_args=(),
        device_types=device,
        schema=f"(Tensor q, Tensor k, Tensor v, {SEGMENTS}) -> (Tensor, Tensor)",
    )
    backward_op = custom_op(
        f"trimtab::{name}_backward",
        lambda *given: backward(*given),
        mutates_args=(),
        device_types=device,
        schema=f"(Tensor d, Tensor q, Tensor k, Tensor v, Tensor out, Tensor sums, {SEGMENTS})"
        " -> (Tensor, Tensor, Tensor)",
    )
    forward_op.register_fake(lambda q, *_: (like(q), q.new_empty(q.shape[:2].numel(), dtype=torch.float32)))
    backward_op.register_fake(lambda d, q, k, v, *_: (like(q), like(k), like(v)))

    def keep(ctx: Any, inputs: tuple, output: tuple) -> None:
        *tensors, ctx.max_seqlen, ctx.max_seqlen_k, ctx.causal = inputs
        ctx.save_for_backward(*tensors[:3], *output, *tensors[3:])
        ctx.set_materialize_grads(False)

    def gradients(ctx: Any, gradient: Tensor, _: None) -> tuple:
        given = (gradient.contiguous(), *ctx.saved_tensors, ctx.max_seqlen, ctx.max_seqlen_k, ctx.causal)
        return *backward_op(*given), None, None, None, None, None

    forward_op.register_autograd(gradients, setup_context=keep)

    def attend(
        queries: Tensor, keys: Tensor, values: Tensor, *, of: Segments, to: Segments, causal: bool
    ) -> Tensor:
        half = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else queries.dtype
        parts = (x.to(half) for x in (queries, keys, values))
        return forward_op(*parts, of.cu_seqlens, to.cu_seqlens, of.max_seqlen, to.max_seqlen, causal)[0]

    return attend


def like(x: Tensor) -> Tensor:
    """Where a result of the same shape comes, without gaps."""
    return torch.empty_like(x, memory_format=torch.contiguous_format)
