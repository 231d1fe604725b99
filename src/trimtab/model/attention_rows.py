"""Causal attention over segments that are all equally long, which a flat pack can be viewed as rows of: cuDNN's
kernels, which come with PyTorch, NVIDIA GPUs, half precision.

They are written for Hopper and Blackwell, where the variable-length FlashAttention of PyTorch is one for older cards.
Their own form for segments of unequal lengths is not used: its gradients were wrong (decision 0015).
"""

import torch
from torch import Tensor

from trimtab.model.fused_attention import fused_attention

SIZES = (64, 128)
"""Of heads for which it was measured."""


def forward(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    of: Tensor,
    to: Tensor,
    longest: int,
    longest_key: int,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """Output and sums."""
    rows = (as_rows(each, longest) for each in (queries, keys, values))
    out, sums, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(
        *rows, None, compute_log_sumexp=True, dropout_p=0.0, is_causal=bool(causal)
    )
    return as_stream(out), sums.reshape(-1)


def backward(
    gradient: Tensor,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    out: Tensor,
    sums: Tensor,
    of: Tensor,
    to: Tensor,
    longest: int,
    longest_key: int,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values."""
    given = [as_rows(each, longest) for each in (gradient, queries, keys, values, out)]
    # Of dropout, which there is none of.
    seed = torch.empty((), dtype=torch.int64, device=queries.device)
    found = torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        *given,
        sums.view(*given[1].shape[:3], 1),
        *(seed, seed, None, None, None),
        longest,
        longest_key,
        dropout_p=0.0,
        is_causal=bool(causal),
    )
    dq, dk, dv = map(as_stream, found)
    return dq, dk, dv


def as_rows(x: Tensor, length: int) -> Tensor:
    """The stream `tokens heads size` seen as `rows heads length size`."""
    return x.unflatten(0, (-1, length)).transpose(1, 2)


def as_stream(x: Tensor) -> Tensor:
    """Back again, without gaps."""
    flat = x.transpose(1, 2).flatten(0, 1)
    return flat if flat.is_contiguous() else flat.clone(memory_format=torch.contiguous_format)


attend_rows = fused_attention("attend_rows", forward, backward)
"""Called as `trimtab.model.attention.attend` is, where every segment has `max_seqlen` tokens."""
