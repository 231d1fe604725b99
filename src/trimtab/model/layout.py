"""What attention must know of a stream: where each segment begins, and where a token stands in padded rows."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Int32
from torch import Tensor

from trimtab.flow import Stream


class Layout(NamedTuple):
    """A stream's segments, as the kernels want them; the last two are there for padded rows only."""

    boundaries: Int32[Tensor, "segments_and_one"]
    longest: int
    """No segment is longer."""
    places: Int[Tensor, "tokens"] | None
    """Row × longest + position: where each token goes when segments become padded rows."""
    real: Bool[Tensor, "segments longest"] | None
    """True where a padded row holds a token."""


def layout_of(stream: Stream, *, padded: bool) -> Layout:
    """The layout of a stream; `padded` prepares the index that rows of equal length need."""
    if not padded:
        return Layout(stream.boundaries, stream.longest, None, None)
    places = stream.segments * stream.longest + stream.positions
    lengths = stream.boundaries.diff()
    real = torch.arange(stream.longest, device=lengths.device) < lengths[:, None]
    return Layout(stream.boundaries, stream.longest, places, real)
