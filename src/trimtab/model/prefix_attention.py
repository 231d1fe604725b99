"""Attention of a prefix language model: both directions over what is given at the beginning, causal after it."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from trimtab.model.attention import attend
from trimtab.model.positions.shaw import Relative
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.types import Stream


class PrefixLayout(NamedTuple):
    """Where the prefixes of a stream are."""

    halves: SequenceLayout
    """Twice as many segments: by turns the prefix of a segment and the rest of it, either of which may be empty."""
    in_prefix: Bool[Tensor, "tokens 1 1"]
    """True for tokens of a prefix."""


def prefix_layout_of(stream: Stream, *, padded: bool) -> PrefixLayout:
    """The layout of a stream whose segments begin with `stream.prefix` given tokens; sizes as fixed as the stream's."""
    assert stream.prefix is not None, "a stream without prefixes"
    starts, lengths = stream.cu_seqlens[:-1], stream.cu_seqlens.diff()
    prefix = torch.minimum(stream.prefix, lengths)
    ends = torch.stack([starts, starts + prefix], dim=1).flatten()
    own = prefix[stream.segments]
    in_prefix = stream.positions < own
    halves = Stream(
        ids=stream.ids,
        positions=torch.where(in_prefix, stream.positions, stream.positions - own),
        segments=2 * stream.segments + (~in_prefix).to(stream.segments.dtype),
        cu_seqlens=torch.cat([ends, stream.cu_seqlens[-1:]]),
        max_seqlen=stream.max_seqlen,
    )
    return PrefixLayout(sequence_layout(halves, padded=padded), in_prefix[:, None, None])


def attend_prefix(
    queries: Float[Tensor, "tokens heads size"],
    keys: Float[Tensor, "tokens kv_heads size"],
    values: Float[Tensor, "tokens kv_heads size"],
    *,
    layout: SequenceLayout,
    prefix: PrefixLayout,
    bias: Float[Tensor, "heads longest longest"] | Relative | None = None,
) -> Float[Tensor, "tokens heads size"]:
    """Exact, by the kernels that there are: a token after the prefix attends causally to its whole segment, and one of
    the prefix to the prefix alone, so that each of the two results is taken where it is the right one.

    Source: the prefix mask of arXiv 1910.10683, section 3.2.1, figure 4.
    """
    after = attend(queries, keys, values, of=layout, to=layout, causal=True, bias=bias)
    # A prefix begins where its segment does, so that its positions are those of the segment.
    within = attend(queries, keys, values, of=prefix.halves, to=prefix.halves, causal=False, bias=bias)
    return torch.where(prefix.in_prefix, within, after)
