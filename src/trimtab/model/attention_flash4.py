"""Attention over flat packs by FlashAttention-4, of the package `flash-attn-4`: Hopper, half precision.

Its kernels are written in Python with CuTe and compiled when they are first used; they know groups of heads. Source,
for Hopper: FlashAttention-3, arXiv 2407.08608. Both layouts must end at the last slot.
"""

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from trimtab.model.fused_attention import fused_attention

SIZES = (64, 128)
"""Of heads for which it was measured."""
HOPPER = 9
"""The compute capability on which it was measured."""


@cache
def flash4_runs_on(device: torch.device) -> bool:
    """Whether the package is there and the GPU is one that it is for.

    Warns where the package is installed and cannot be imported, as without one of those that it needs; attention then
    takes the kernel that it takes without it.
    """
    if device.type != "cuda" or torch.version.hip is not None:
        return False
    if torch.cuda.get_device_capability(device)[0] != HOPPER:
        return False
    try:
        # An older FlashAttention has the first and not the second. To look for the second imports the first.
        if find_spec("flash_attn") is None or find_spec("flash_attn.cute") is None:
            return False
        kernels = import_module("flash_attn.cute.interface")
        _ = kernels._flash_attn_fwd, kernels._flash_attn_bwd  # a later version may have other names
    except Exception as error:  # of any kind: it loads libraries of CUDA and compilers
        first_line, *_ = str(error).splitlines() or [""]
        warnings.warn(
            f"attention takes the slower kernel, since flash-attn-4 cannot be imported: "
            f"{type(error).__name__}: {first_line}",
            stacklevel=2,
        )
        return False
    return True


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
    dq, dk, dv, *_ = _flash_attn_bwd(queries, keys, values, out, gradient, sums, **segments(*rest))
    return dq.contiguous(), dk.contiguous(), dv.contiguous()


def segments(of: Tensor, to: Tensor, max_seqlen: int, max_seqlen_k: int, causal: bool) -> dict[str, Any]:
    """As these kernels name them."""
    return {
        "cu_seqlens_q": of,
        "cu_seqlens_k": to,
        "max_seqlen_q": max_seqlen,
        "max_seqlen_k": max_seqlen_k,
        "causal": bool(causal),
    }


attend_flash4 = fused_attention("attend_flash4", forward, backward)
