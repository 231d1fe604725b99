"""Attention over flat packs by cuDNN's fused kernels, which find the segments of a flat stream by their boundaries.

PyTorch has them for nested tensors, and no public name for them on a flat stream. CUDA and half precision only; both
layouts must end at the last slot.
"""

import torch
from torch import Tensor

from trimtab.model.fused_attention import fused_attention


def forward(
    queries: Tensor, keys: Tensor, values: Tensor, of: Tensor, to: Tensor, *rest: int
) -> tuple[Tensor, Tensor]:
    """Output and sums."""
    *longest, causal = rest
    kernel = torch.ops.aten._cudnn_attention_forward
    found = kernel(queries, keys, values, None, of, to, *longest, True, 0.0, bool(causal), False)
    return found[0], found[1].reshape(-1)


def backward(
    gradient: Tensor, queries: Tensor, keys: Tensor, values: Tensor, out: Tensor, sums: Tensor, *rest: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values."""
    of, to, *longest, causal = rest
    # Seed and offset of a dropout that there is not.
    nothing = torch.zeros(1, dtype=torch.int64, device=queries.device)
    sums = sums.view(*queries.shape[:2], 1)
    kernel = torch.ops.aten._cudnn_attention_backward
    saved = (queries, keys, values, out, sums, nothing, nothing, None, of, to)
    dq, dk, dv = kernel(gradient, *saved, *longest, 0.0, bool(causal))
    return dq.contiguous(), dk.contiguous(), dv.contiguous()


attend_cudnn = fused_attention("attend_cudnn", forward, backward)
