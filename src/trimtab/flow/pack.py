"""A micro-batch: two flat streams of tokens, without padding, and what the decoder must predict."""

from dataclasses import dataclass

import torch
from jaxtyping import Int, Int32
from torch import Tensor

IGNORE = -100
"""The target of a slot that does not count in the loss."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One flat side of a pack, with the boundaries of its segments."""

    ids: Int[Tensor, "tokens"]
    positions: Int[Tensor, "tokens"]
    """Place of each token in its segment, from 0."""
    segments: Int[Tensor, "tokens"]
    """Number of the segment that each token belongs to."""
    boundaries: Int32[Tensor, "segments_and_one"]
    """Segment i is `ids[boundaries[i]:boundaries[i + 1]]`; repeated boundaries are empty segments."""
    longest: int
    """No segment is longer; fixed for a whole run where shapes are fixed."""
    prefix: Int32[Tensor, "segments"] | None = None
    """How many leading tokens of each segment are given and may see each other in both directions; None for none."""

    def to(self, device: torch.device) -> "Stream":
        """The same stream on a device."""
        move = {"device": device, "non_blocking": True}
        return Stream(
            self.ids.to(**move),
            self.positions.to(**move),
            self.segments.to(**move),
            self.boundaries.to(**move),
            self.longest,
            None if self.prefix is None else self.prefix.to(**move),
        )

    def pin(self) -> "Stream":
        """The same stream in page-locked memory."""
        return Stream(
            self.ids.pin_memory(),
            self.positions.pin_memory(),
            self.segments.pin_memory(),
            self.boundaries.pin_memory(),
            self.longest,
            None if self.prefix is None else self.prefix.pin_memory(),
        )


@dataclass(frozen=True, slots=True)
class Pack:
    """One micro-batch: source and target streams with the same number of segments."""

    source: Stream
    target: Stream
    """The decoder's input: the start symbol, then the target without its last token."""
    labels: Int[Tensor, "target_tokens"]
    """What the decoder must predict; IGNORE in slots that do not count."""
    num_segments: int
    """Real segments; those after them fill the tail."""
    num_targets: int
    num_tokens: int
    """Real source and target tokens."""

    def to(self, device: torch.device) -> "Pack":
        """The same pack on a device."""
        return Pack(
            self.source.to(device),
            self.target.to(device),
            self.labels.to(device, non_blocking=True),
            self.num_segments,
            self.num_targets,
            self.num_tokens,
        )

    def pin(self) -> "Pack":
        """The same pack in page-locked memory, for copies that run beside the computation."""
        return Pack(
            self.source.pin(),
            self.target.pin(),
            self.labels.pin_memory(),
            self.num_segments,
            self.num_targets,
            self.num_tokens,
        )
