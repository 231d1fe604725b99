"""Attention over padded rows: segments become rows of equal length, attend, and become a flat stream again."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from trimtab.model.positions.shaw import Relative, attend_biased
from trimtab.model.sequence_layout import SequenceLayout


def attend_padded(
    queries: Float[Tensor, "queries heads size"],
    keys: Float[Tensor, "keys heads size"],
    values: Float[Tensor, "keys heads size"],
    *,
    of: SequenceLayout,
    to: SequenceLayout,
    causal: bool,
    bias: Float[Tensor, "*rows heads longest longest"] | Relative | None = None,
) -> Float[Tensor, "queries heads size"]:
    """Any device and precision. Only attention is padded; all other work stays on the flat stream."""
    q, k, v = pad_rows(queries, of), pad_rows(keys, to), pad_rows(values, to)
    # Padding is at the end of a row, so under a causal mask no real query ever sees it.
    mask = None if causal else to.real[:, None, None, :]
    if bias is None:
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    else:
        shape = of.max_seqlen, to.max_seqlen
        seen = torch.ones(shape, dtype=torch.bool, device=q.device).tril() if causal else mask
        mixed = attend_biased(q, k, v, seen=seen, bias=bias)
    return mixed.transpose(1, 2).reshape(-1, *queries.shape[1:])[of.places]


def pad_rows(
    x: Float[Tensor, "tokens heads size"], layout: SequenceLayout
) -> Float[Tensor, "rows heads longest size"]:
    """The segments as rows of `max_seqlen` slots, zeros after their end."""
    rows = len(layout.cu_seqlens) - 1
    slots = x.new_zeros(rows * layout.max_seqlen, *x.shape[1:]).index_copy(0, layout.places, x)
    return slots.view(rows, layout.max_seqlen, *x.shape[1:]).transpose(1, 2)
