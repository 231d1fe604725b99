"""A micro-batch: two flat streams of tokens, without padding, and what the decoder must predict."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float32, Int, Int32
from torch import Tensor

from trimtab.types.batch import TensorBatch

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
    cu_seqlens: Int32[Tensor, "segments_and_one"]
    """Segment i is `ids[cu_seqlens[i]:cu_seqlens[i + 1]]`; repeated offsets are empty segments."""
    max_seqlen: int
    """No segment is longer; fixed for a whole run where shapes are fixed."""
    prefix: Int32[Tensor, "segments"] | None = None
    """How many leading tokens of each segment are given and may see each other in both directions; None for none."""
    full: int = 0
    """At least so many of the first segments are as long as `max_seqlen`, so that they can be seen as rows."""

    def tensors(self) -> list[Tensor]:
        """Its tensors, in the order of the fields."""
        fixed = [self.ids, self.positions, self.segments, self.cu_seqlens]
        return fixed if self.prefix is None else [*fixed, self.prefix]

    def to(self, device: torch.device) -> "Stream":
        """The same stream on a device; the copy may run beside the host."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def map(self, change: Callable[[Tensor], Tensor]) -> "Stream":
        """The same stream with each tensor changed by a function."""
        return Stream(
            *map(change, self.tensors()[:4]), self.max_seqlen, _mapped(self.prefix, change), self.full
        )


def _mapped(tensor: Tensor | None, change: Callable[[Tensor], Tensor]) -> Tensor | None:
    return None if tensor is None else change(tensor)


class TokenLinks(NamedTuple):
    """Which source tokens the target tokens of a pack are aligned to, as slots of its streams. Links of weight 0 fill
    them up to one of few lengths, so that a recorded step sees few shapes."""

    targets: Int[Tensor, "links"]
    sources: Int[Tensor, "links"]
    weights: Float32[Tensor, "links"]
    """Those of one target token add up to 1."""


@dataclass(frozen=True, slots=True)
class PackedBatch(TensorBatch):
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
    links: TokenLinks | None = None
    """Where a run learns alignments."""

    @property
    def num_slots(self) -> int:
        """Slots of both streams, padding included."""
        return len(self.source.ids) + len(self.target.ids)

    @property
    def max_seqlen(self) -> int:
        """No segment of either stream is longer."""
        return max(self.source.max_seqlen, self.target.max_seqlen)

    @property
    def fill(self) -> float:
        """Share of the slots that hold real tokens."""
        return self.num_tokens / self.num_slots

    @property
    def static_key(self) -> Hashable:
        """Shapes of all tensors, the longest segment that each stream allows, and how many segments are full."""
        shapes = tuple(tensor.shape for tensor in self.tensors())
        prefixed = (self.source.prefix is not None, self.target.prefix is not None, self.links is not None)
        longest = (self.source.max_seqlen, self.target.max_seqlen, self.source.full, self.target.full)
        return (*shapes, *prefixed, *longest)

    def tensors(self) -> list[Tensor]:
        """The tensors of both streams, then the labels and the links."""
        return [*self.source.tensors(), *self.target.tensors(), self.labels, *(self.links or ())]

    def map(self, change: Callable[[Tensor], Tensor]) -> "PackedBatch":
        """The same pack with each tensor changed by a function."""
        counts = (self.num_segments, self.num_targets, self.num_tokens)
        links = None if self.links is None else TokenLinks(*map(change, self.links))
        return PackedBatch(
            self.source.map(change), self.target.map(change), change(self.labels), *counts, links
        )

    def blank(self) -> "PackedBatch":
        """A pack of the same shape in which nothing counts: the same tokens without labels or links of any weight."""
        links = self.links
        if links is not None:
            links = links._replace(weights=torch.zeros_like(links.weights))
        labels = torch.full_like(self.labels, IGNORE)
        return replace(self, labels=labels, links=links, num_segments=0, num_targets=0, num_tokens=0)
