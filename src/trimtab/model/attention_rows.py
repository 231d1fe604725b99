"""Causal attention over segments that are all equally long, which a flat pack can be viewed as rows of: cuDNN's
kernels, which come with PyTorch, NVIDIA GPUs, half precision.

They are written for Hopper and Blackwell, where the variable-length FlashAttention of PyTorch is one for older cards.
Their own form for segments of unequal lengths is not used: its gradients were wrong (decision 0015).
"""

from typing import Any

import torch
from torch import Tensor

from trimtab.model.fused_attention import fused_attention

SIZES = (64, 128)
"""Of heads for which it was measured."""


def forward(queries: Tensor, keys: Tensor, values: Tensor, *segments: Any) -> tuple[Tensor, Tensor]:
    """Output and sums; of the segments (see `fused_attention`) the longest and whether it is causal count."""
    _, _, longest, _, causal = segments
    rows = (as_rows(each, longest) for each in (queries, keys, values))
    out, sums, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(
        *rows, None, compute_log_sumexp=True, dropout_p=0.0, is_causal=bool(causal)
    )
    return as_stream(out), sums.reshape(-1)


def backward(*given: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values."""
    *tensors, sums, _, _, longest, longest_key, causal = given
    gradient, queries, keys, values, out = (as_rows(each, longest) for each in tensors)
    # Of dropout, which there is none of.
    seed = torch.empty((), dtype=torch.int64, device=queries.device)
    found = torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        *(gradient, queries, keys, values, out),
        sums.view(*queries.shape[:3], 1),
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
