"""Attention over flat packs by FlashAttention-4, of the package `flash-attn-4`: CUDA from Hopper on, half precision.

Its kernels are written in Python with CuTe and compiled when they are first used; they know groups of heads. Sources:
FlashAttention-3, arXiv 2407.08608, for Hopper. Both layouts must end at the last slot.
"""

import torch
from torch import Tensor

from trimtab.model.fused_attention import fused_attention


def forward(
    queries: Tensor, keys: Tensor, values: Tensor, of: Tensor, to: Tensor, *rest: int
) -> tuple[Tensor, Tensor]:
    """Output and sums."""
    from flash_attn.cute.interface import _flash_attn_fwd

    out, sums, *_ = _flash_attn_fwd(queries, keys, values, **segments(of, to, *rest), return_lse=True)
    assert sums is not None
    return out, sums.view(-1)


def backward(
    gradient: Tensor, queries: Tensor, keys: Tensor, values: Tensor, out: Tensor, sums: Tensor, *rest: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values."""
    from flash_attn.cute.interface import _flash_attn_bwd

    sums = sums.view(queries.shape[1], queries.shape[0])
    certain = torch.are_deterministic_algorithms_enabled()
    dq, dk, dv, *_ = _flash_attn_bwd(
        queries, keys, values, out, gradient, sums, **segments(*rest), deterministic=certain
    )
    return dq.contiguous(), dk.contiguous(), dv.contiguous()


def segments(of: Tensor, to: Tensor, longest: int, longest_key: int, causal: bool) -> dict:
    """As these kernels name them."""
    return {
        "cu_seqlens_q": of,
        "cu_seqlens_k": to,
        "max_seqlen_q": longest,
        "max_seqlen_k": longest_key,
        "causal": bool(causal),
    }


attend_flash4 = fused_attention("attend_flash4", forward, backward)
