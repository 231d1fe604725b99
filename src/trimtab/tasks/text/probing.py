"""The examples of text that checks look at."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.data.packing import Packing
from trimtab.data.shape import PackShape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.text_rows import no_source
from trimtab.tasks.examples import CutTwoWays
from trimtab.tasks.text.datasets import Side, TextDatasets, TextKind
from trimtab.types import PackedBatch, Ragged, Stream

PROBE_TARGETS = 1024
"""Target tokens of the window that is cut in two ways."""
FEW_TARGETS, FEW_EXAMPLES = 256, 4
"""What is enough where one pack tells: so many target tokens, and so many examples where they are longer."""


@runtime_checkable
class HasText(Protocol):
    """What examples are taken from."""

    datasets: TextDatasets
    batching: Packing
    device: torch.device


@dataclass(slots=True)
class TextExamples:
    """See `tasks.examples.Examples`."""

    kind: TextKind
    datasets: TextDatasets
    batching: Packing
    device: torch.device

    def few(self) -> PackedBatch:
        """A handful of examples in one pack."""
        return one_pack(self, few_examples(self))

    def first(self) -> list[PackedBatch]:
        """The first examples in as few packs as they take."""
        return on_device(self, probe_window(self))

    def cuts(self) -> Iterator[CutTwoWays]:
        """Three windows, each in one pack and in four, as narrow as they may be."""
        for window in windows_to_cut(self):
            shape = narrowed(self.batching.shape, window)
            (whole,) = on_device(self, window, shape)
            pieces = [piece for piece in in_four(window) if len(piece.target)]
            packs = [pack for piece in pieces for pack in on_device(self, piece, shape)]
            yield CutTwoWays(whole, packs, window.num_targets)

    def fullest(self) -> PackedBatch:
        """Rows of the greatest length, as many as the budgets of a pack hold."""
        shape, longest = self.batching.shape, self.datasets.feed.max_tokens
        of_source = shape.source_capacity // longest if shape.has_source else shape.segment_capacity
        rows = max(1, min(of_source, shape.target_capacity // longest, shape.segment_capacity))
        tokenizers = self.datasets.tokenizers
        source, target = (
            Ragged.of([[each.unknown] * longest] * rows) for each in (tokenizers.source, tokenizers.target)
        )
        source = source if shape.has_source else no_source(rows)
        diagonal = [number for each in range(longest) for number in (each, each)]
        links = None if self.datasets.sample.links is None else Ragged.of([diagonal] * rows)
        window = window_of(source, target, links=links)
        return self.batching.cut(window, replace(shape, num_packs=1))[0]

    def sides(self) -> list[Side]:
        """The vocabularies of the run, each with the ids of its first examples."""
        return self.kind.sides(self.datasets)


def probe_window(parts: HasText, *, targets: int = PROBE_TARGETS, least: int = 1) -> TextGlobalBatch:
    """The first examples of the stream, about so many target tokens of them."""
    sample = parts.datasets.sample
    count = max(least, int((sample.target.offsets[1:] <= targets).sum()))
    window = window_of(sample.source, sample.target, sample.prompt, sample.links)
    return between(window, 0, min(count, len(sample.target)))


def windows_to_cut(parts: HasText) -> Iterator[TextGlobalBatch]:
    """Three windows of different examples, each of one pack; of a short sample the later two are halves of the
    first."""
    sample = parts.datasets.sample
    everything = window_of(sample.source, sample.target, sample.prompt, sample.links)
    first = in_one_pack(probe_window(parts), parts)
    yield first
    count = len(first.target)
    if len(everything.target) >= 3 * count:
        bounds = [(count, 2 * count), (2 * count, 3 * count)]
    else:
        everything, bounds = first, [(0, count // 2), (count // 2, count)]
    for start, stop in bounds:
        window = in_one_pack(between(everything, start, stop), parts)
        if len(window.target) >= min(count, FEW_EXAMPLES):  # fewer make too few pieces to show what is wrong
            yield window


def few_examples(parts: HasText) -> TextGlobalBatch:
    """A handful of examples that fit into one pack."""
    return in_one_pack(probe_window(parts, targets=FEW_TARGETS, least=FEW_EXAMPLES), parts)


def window_of(
    source: Ragged, target: Ragged, prompt: np.ndarray | None = None, links: Ragged | None = None
) -> TextGlobalBatch:
    """Rows as a window of corpus 0."""
    zeros = torch.zeros(len(target), dtype=torch.int64).numpy()
    return TextGlobalBatch(source, target, zeros.astype("int32"), zeros, 0, prompt=prompt, links=links)


def between(window: TextGlobalBatch, start: int, stop: int) -> TextGlobalBatch:
    """Some of a window's examples."""
    prompt = None if window.prompt is None else window.prompt[start:stop]
    links = None if window.links is None else window.links.between(start, stop)
    return window_of(window.source.between(start, stop), window.target.between(start, stop), prompt, links)


def in_one_pack(window: TextGlobalBatch, parts: HasText) -> TextGlobalBatch:
    """As many of the window's first examples as one pack holds, at least one."""
    shape = parts.batching.shape
    fits = (window.source.offsets <= shape.source_capacity) & (window.target.offsets <= shape.target_capacity)
    count = max(1, min(int(fits.sum()) - 1, shape.segment_capacity))
    return between(window, 0, count)


def in_four(window: TextGlobalBatch) -> list[TextGlobalBatch]:
    """Pieces of one, three, five and seven sixteenths: alike they would hide means of means."""
    count = len(window.target)
    bounds = [i * i * count // 16 for i in range(5)]
    return [between(window, a, b) for a, b in pairwise(bounds)]


def on_device(parts: HasText, window: TextGlobalBatch, shape: PackShape | None = None) -> list[PackedBatch]:
    """A window in one pack (or as few as it takes), on the device; of the run's shape or of another."""
    return [
        pack.to(parts.device)
        for pack in parts.batching.cut(window, replace(shape or parts.batching.shape, num_packs=1))
    ]


def narrowed(shape: PackShape, window: TextGlobalBatch) -> PackShape:
    """A shape with room for a window and a tail after it, never wider than the run's own.

    Backward passes that are not compiled need more memory for each slot than the run will, and must not fail where it
    would not.
    """
    if not shape.fixed:
        return shape
    target, source = int(window.target.offsets[-1]), int(window.source.offsets[-1])
    narrow = replace(shape, target_slots=min(shape.target_slots, slots_for(target + shape.target_max_seqlen)))
    if not shape.has_source:
        return narrow
    kept = narrow.source_slots - narrow.source_capacity
    return replace(
        narrow, source_slots=min(shape.source_slots, slots_for(source + kept + shape.source_max_seqlen))
    )


def slots_for(tokens: int) -> int:
    """A multiple of 64, as budgets of fixed packs are."""
    return -(-tokens // 64) * 64


def one_pack(parts: HasText, window: TextGlobalBatch) -> PackedBatch:
    """A window that fits into one pack, its examples in their order, on the device."""
    in_order = replace(parts.batching.shape, num_packs=1, sort=False, full_first=False)
    (pack,) = parts.batching.cut(window, in_order)
    return pack.to(parts.device)


def lengths_at(stream: Stream) -> Int[Tensor, "tokens"]:
    """For each token the length of its segment."""
    return stream.cu_seqlens.diff()[stream.segments].long()


def exchanged(stream: Stream, *, where: Bool[Tensor, "tokens"], num_ids: int) -> Stream:
    """The stream with other tokens at these places."""
    others = (stream.ids + num_ids // 2) % num_ids
    return replace(stream, ids=torch.where(where, others, stream.ids))


def size(vectors: Float[Tensor, "tokens dim"], where: Bool[Tensor, "tokens"]) -> float:
    """Root mean square of the vectors at these places; 0 if there are none."""
    chosen = vectors[where]
    return float(chosen.square().mean().sqrt()) if len(chosen) else 0.0
