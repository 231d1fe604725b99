"""Attention over flat packs by PyTorch's variable-length FlashAttention kernel."""

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.model.sequence_layout import SequenceLayout


def attend_varlen(
    queries: Float[Tensor, "queries heads size"],
    keys: Float[Tensor, "keys heads size"],
    values: Float[Tensor, "keys heads size"],
    *,
    of: SequenceLayout,
    to: SequenceLayout,
    causal: bool,
) -> Float[Tensor, "queries heads size"]:
    """CUDA and half precision only. Both layouts must end at the last slot: rows past the last boundary get NaN
    gradients (pytorch issue 176793), which is why packs fill their tail with dummy segments.

    Source: FlashAttention-2, arXiv 2307.08691.
    """
    # Late: it brings PyTorch's compiler, 70 MiB and most of the time to start, of which a CPU has no use.
    from torch.nn.attention.varlen import varlen_attn

    half = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else queries.dtype
    # Rotary positions leave float32 behind under autocast; the kernel takes half precision only.
    queries, keys, values = queries.to(half), keys.to(half), values.to(half)
    window = (-1, 0) if causal else (-1, -1)
    return varlen_attn(
        queries, keys, values, of.cu_seqlens, to.cu_seqlens, of.max_seqlen, to.max_seqlen, window_size=window
    )
