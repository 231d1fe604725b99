"""Attention between the segments of two streams, by the kernel that fits the device and the precision."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.model.attention_flash4 import SIZES, attend_flash4
from trimtab.model.attention_padded import attend_padded
from trimtab.model.attention_rows import attend_rows
from trimtab.model.positions.shaw import Relative
from trimtab.model.sequence_layout import SequenceLayout
from trimtab.model.tiled.attend import attend_tiled, fits_tiles


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


Kernel = Literal["varlen", "padded"]


def attend(
    queries: Float[Tensor, "queries heads size"],
    keys: Float[Tensor, "keys kv_heads size"],
    values: Float[Tensor, "keys kv_heads size"],
    *,
    of: SequenceLayout,
    to: SequenceLayout,
    causal: bool,
    bias: Float[Tensor, "*rows heads longest longest"] | Relative | None = None,
) -> Float[Tensor, "queries heads size"]:
    """Segment i of the queries attends to segment i of the keys and to nothing else.

    The layouts choose the kernel: with places for padded rows it is PyTorch's scaled_dot_product_attention on padded
    rows (any device and precision, the slow twin of every other), without them the variable-length FlashAttention
    kernel (CUDA, half precision), which needs no padding, FlashAttention-4 in its place where it is installed and runs;
    or, where no segment is long, tiles that hold several.

    With fewer heads of keys than of queries, head h of the queries uses head h // (heads / kv_heads) of the keys:
    grouped-query attention (arXiv 2305.13245, section 2.2).

    `bias` is added by positions to the scores, or to keys and values where it is `Relative`; only padded rows take one.
    Raises ValueError for other kernels, which `model.transformer.Transformer.padded` keeps a model with such positions
    from.
    """
    if bias is not None and of.places is None:
        raise ValueError(
            "a bias of positions; got layouts for flat kernels, which take none; allowed: padded rows"
        )
    if of.places is None and fits_tiles(queries, of, to):
        return attend_tiled(queries, keys, values, of=of, to=to, causal=causal)
    if of.full and to.full == of.full:
        return attend_full_first(queries, keys, values, layout=of, causal=causal)
    if of.flash4 and queries.shape[2] in SIZES:
        return attend_flash4(queries, keys, values, of=of, to=to, causal=causal)
    keys, values = repeated_heads(keys, queries), repeated_heads(values, queries)
    if of.places is None:
        return attend_varlen(queries, keys, values, of=of, to=to, causal=causal)
    return attend_padded(queries, keys, values, of=of, to=to, causal=causal, bias=bias)


def attend_full_first(
    queries: Float[Tensor, "tokens heads size"],
    keys: Float[Tensor, "tokens kv_heads size"],
    values: Float[Tensor, "tokens kv_heads size"],
    *,
    layout: SequenceLayout,
    causal: bool,
) -> Float[Tensor, "tokens heads size"]:
    """Self-attention with the first segments, all of the same length, as rows, and the others by the kernel that they
    have without them."""
    tokens = layout.full * layout.max_seqlen
    parts = [repeated_heads(each, queries) for each in (keys, values)]
    rows = layout._replace(cu_seqlens=layout.cu_seqlens[: layout.full + 1])
    first = attend_rows(queries[:tokens], *(each[:tokens] for each in parts), of=rows, to=rows, causal=causal)
    if tokens == len(queries):
        return first
    rest = layout._replace(cu_seqlens=layout.cu_seqlens[layout.full :] - tokens, full=0)
    last = attend(queries[tokens:], keys[tokens:], values[tokens:], of=rest, to=rest, causal=causal)
    return torch.cat([first, last])


def repeated_heads(keys: Float[Tensor, "tokens kv_heads size"], queries: Tensor) -> Tensor:
    """Keys or values once for each head of the queries: not all kernels know groups of heads."""
    group = queries.shape[1] // keys.shape[1]
    return keys.repeat_interleave(group, dim=1) if group > 1 else keys
