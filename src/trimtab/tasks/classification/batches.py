"""Batches of labelled texts: one flat stream of ids without padding, and a label for each of its segments."""

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from trimtab.config.step import StepConfig
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.stream import CutsSteps, divided, rounded_up
from trimtab.types import IGNORE, Ragged, Stream, TensorBatch

SLACK = 1.05
STANDARD_ERRORS = 4.0
SLOT_MULTIPLE = 64
PASS_SLOTS = {"cpu": 48}
"""Slots of padding that take about as long as one more pass through the model: on a CPU those whose arithmetic takes as
long as reading the weights and adding to their gradients. A line through the seconds of passes of 24 to 768 slots gives
54 to 79 for MiniLM, 53 to 62 for a BERT of 5M parameters and 39 to 75 for one of 66M."""
PASS_SLOTS_OF_A_GPU = 4096
"""There a pass of a small model is the launches of its kernels."""


class LabelledTexts(TextGlobalBatch):
    """The examples of one step: `source` has the ids of each text, `target` the number of its label."""

    __slots__ = ()

    @property
    def num_tokens(self) -> int:
        """Tokens of the texts; labels are none."""
        return int(self.source.offsets[-1])


@dataclass(frozen=True, slots=True)
class LabelledBatch(TensorBatch):
    """One micro-batch; see `types.Batch`."""

    text: Stream
    labels: Int[Tensor, "segments"]
    """The number of each segment's label; IGNORE for those that fill the tail."""
    num_targets: int
    """Examples, each of which has one target."""
    num_tokens: int
    """Real tokens."""

    @property
    def num_segments(self) -> int:
        """Real segments."""
        return self.num_targets

    @property
    def max_seqlen(self) -> int:
        """No segment is longer."""
        return self.text.max_seqlen

    @property
    def num_slots(self) -> int:
        """Slots of the stream, padding included."""
        return len(self.text.ids)

    @property
    def static_key(self) -> Hashable:
        """Shapes of all tensors, and the longest segment."""
        return (*(tensor.shape for tensor in self.tensors()), self.text.max_seqlen)

    def tensors(self) -> list[Tensor]:
        """Those of the stream, then the labels."""
        return [*self.text.tensors(), self.labels]

    def map(self, change: Callable[[Tensor], Tensor]) -> "LabelledBatch":
        """The same batch with each tensor changed by a function."""
        return replace(self, text=self.text.map(change), labels=change(self.labels))

    def blank(self) -> "LabelledBatch":
        """A batch of the same shape in which nothing counts."""
        labels = torch.full_like(self.labels, IGNORE)
        return replace(self, labels=labels, num_targets=0, num_tokens=0)


@dataclass(frozen=True, slots=True)
class BatchShape:
    """How large batches are and how they are filled."""

    num_batches: int
    """Batches of a whole step; more where it does not fit."""
    slots: int
    """Tokens that a batch holds at most."""
    examples: int
    """Examples that it holds at most."""
    max_seqlen: int
    """No text is longer."""
    fixed: bool
    """Every batch has these slots and the same number of segments, for kernels that are compiled once."""
    sort: bool
    """A step is sorted by length before it is cut, for models that pad rows, where that leaves the least padding."""
    pass_slots: int = 0
    """How much padding a batch more has to save; see `PASS_SLOTS`."""

    @property
    def tail(self) -> int:
        """Segments that may be needed to fill a batch."""
        return -(-self.slots // self.max_seqlen) if self.fixed else 0


def plan_shape(
    step: StepConfig,
    lengths: np.ndarray,
    *,
    max_tokens: int,
    packed: bool,
    ranks: int = 1,
    device: str = "cpu",
) -> BatchShape:
    """The shape for steps of `tokens_per_step` examples, in a multiple of `ranks` batches; `lengths` are those of a
    sample of the texts, `device` is the type of what computes.

    The slots hold the mean length of a batch's examples and four standard errors more, unless
    `source_tokens_per_micro_batch` says how many there are.
    """
    num_batches, examples = divided(step, ranks=ranks)
    need = SLACK * examples * lengths.mean() + STANDARD_ERRORS * math.sqrt(examples) * lengths.std()
    slots = step.source_tokens_per_micro_batch or math.ceil(need)
    max_seqlen = rounded_up(max_tokens, 8)
    return BatchShape(
        num_batches=num_batches,
        slots=rounded_up(max(slots, max_seqlen), SLOT_MULTIPLE),
        examples=examples,
        max_seqlen=max_seqlen,
        fixed=packed,
        sort=not packed,
        pass_slots=PASS_SLOTS.get(device, PASS_SLOTS_OF_A_GPU),
    )


@dataclass(slots=True)
class Batching(CutsSteps):
    """Cuts steps into batches of one shape; see `tasks.task.Batching`."""

    pad: int
    """The id that fills the tail."""

    @property
    def resolved(self) -> dict[str, int]:
        """The budget that was chosen for the texts, by its key of the recipe's `step`."""
        return {"source_tokens_per_micro_batch": self.shape.slots}

    def cut(self, window: TextGlobalBatch, shape: BatchShape | None = None) -> list[LabelledBatch]:
        """A global batch in batches of the run's shape, or of another, in host memory."""
        return [*cut(window.source, window.target.values, shape or self.shape, pad=self.pad)]

    def whole_set(self, text: Ragged, labels: np.ndarray) -> Iterator[LabelledBatch]:
        """A whole set in its order, in batches on the device."""
        for batch in cut(text, labels, replace(self.shape, sort=False), pad=self.pad):
            yield batch.to(self.device)


def cut(text: Ragged, labels: np.ndarray, shape: BatchShape, *, pad: int) -> Iterator[LabelledBatch]:
    """The examples in batches; sorted ones where that leaves the least padding, others as many as fit."""
    bounds = [len(text)]
    if shape.sort:
        order = np.argsort(text.lengths, kind="stable")
        text, labels = text.take(order), labels[order]
        bounds = least_padding(text.lengths, shape)
    start = 0
    for bound in bounds:
        while start < bound:
            fits = int(np.searchsorted(text.offsets, text.offsets[start] + shape.slots, side="right")) - 1
            stop = min(fits, start + shape.examples, bound)
            assert stop > start, "a text is longer than a batch"
            yield assemble(text.between(start, stop), labels[start:stop], shape, pad=pad)
            start = stop


def least_padding(lengths: Int[np.ndarray, "rows"], shape: BatchShape) -> list[int]:
    """Where to cut rows that are sorted by length, so that their slots, padding included, and `pass_slots` for each
    batch are fewest: the last number of each group, which may hold more rows than a batch.

    Rows of one length stay together. The best groups of the shortest rows are found for each number of lengths in turn,
    by dynamic programming over the last group.
    """
    if not len(lengths):
        return []
    longest, counts = np.unique(lengths, return_counts=True)
    rows = np.concatenate([[0], np.cumsum(counts)])
    tokens = np.concatenate([[0], np.cumsum(counts * longest)])
    best, cut_before = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    for stop in range(1, len(rows)):
        held = rows[stop] - rows[:stop]
        batches = np.maximum(-(-held // shape.examples), -(-(tokens[stop] - tokens[:stop]) // shape.slots))
        cost = best[:stop] + held * longest[stop - 1] + batches * shape.pass_slots
        cut_before[stop] = np.argmin(cost)
        best[stop] = cost[cut_before[stop]]
    bounds, stop = [], len(rows) - 1
    while stop:
        bounds.append(int(rows[stop]))
        stop = int(cut_before[stop])
    return bounds[::-1]


def assemble(text: Ragged, labels: np.ndarray, shape: BatchShape, *, pad: int) -> LabelledBatch:
    """The batch of these examples, which fit into the shape.

    Where the shape is fixed, the rest of its slots is filled with segments of padding that are no longer than a text
    may be, and its labels with IGNORE; repeated boundaries stand for segments that are not needed.
    """
    offsets, used = text.offsets, int(text.offsets[-1])
    if shape.fixed:
        tail = np.minimum(shape.slots, np.arange(1, shape.tail + 1) * shape.max_seqlen + used)
        offsets = np.concatenate([offsets, tail])
        offsets = np.pad(offsets, (0, shape.examples + shape.tail + 1 - len(offsets)), mode="edge")
    lengths = np.diff(offsets)
    ids = np.full(offsets[-1], pad, np.int64)
    ids[:used] = text.values
    filled = np.full(len(lengths), IGNORE, np.int64)
    filled[: len(labels)] = labels
    stream = Stream(
        ids=torch.from_numpy(ids),
        positions=torch.from_numpy(np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)),
        segments=torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)),
        cu_seqlens=torch.from_numpy(offsets.astype(np.int32)),
        max_seqlen=shape.max_seqlen if shape.fixed else int(lengths.max()),
    )
    return LabelledBatch(stream, torch.from_numpy(filled), num_targets=len(text), num_tokens=used)
