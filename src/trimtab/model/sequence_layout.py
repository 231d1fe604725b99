"""What attention must know of a stream: where each segment begins, and where each token goes in padded rows."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Int32
from torch import Tensor

from trimtab.gpu.triton_runs import triton_runs_on
from trimtab.model.attention_flash4 import flash4_runs_on
from trimtab.model.tiled.tiles import LONGEST
from trimtab.types import Stream


class SequenceLayout(NamedTuple):
    """A stream's segments, as the kernels want them; two fields are there for padded rows only, the last for tiles."""

    cu_seqlens: Int32[Tensor, "segments_and_one"]
    max_seqlen: int
    """No segment is longer."""
    places: Int[Tensor, "tokens"] | None
    """Row × longest + position: where each token goes when segments become padded rows."""
    real: Bool[Tensor, "segments longest"] | None
    """True where a padded row holds a token."""
    spans: Int32[Tensor, "tokens_and_segments_and_one"] | None = None
    """The segment of each token, then the boundaries; where tiles can be used."""
    flash4: bool = False
    """Whether FlashAttention-4 can be used."""
    full: int = 0
    """So many of the first segments are seen as rows of `max_seqlen` tokens, for a kernel that is faster there."""


def sequence_layout(stream: Stream, *, padded: bool) -> SequenceLayout:
    """The layout of a stream; `padded` prepares the index that rows of equal length need."""
    if not padded:
        tiled = triton_runs_on(stream.cu_seqlens.device) and stream.max_seqlen <= LONGEST
        if tiled:
            return SequenceLayout(stream.cu_seqlens, stream.max_seqlen, None, None, spans_of(stream))
        # Whether its gradients have the same bits twice was not tried.
        flash4 = flash4_runs_on(stream.cu_seqlens.device) and not torch.are_deterministic_algorithms_enabled()
        return SequenceLayout(stream.cu_seqlens, stream.max_seqlen, None, None, flash4=flash4)
    places = stream.segments * stream.max_seqlen + stream.positions
    lengths = stream.cu_seqlens.diff()
    real = torch.arange(stream.max_seqlen, device=lengths.device) < lengths[:, None]
    return SequenceLayout(stream.cu_seqlens, stream.max_seqlen, places, real)


def spans_of(stream: Stream) -> Int32[Tensor, "tokens_and_segments_and_one"]:
    """Segment numbers and boundaries as tiled attention reads them."""
    return torch.cat([stream.segments.to(torch.int32), stream.cu_seqlens])
