"""Batches of images: side by side in one strip with a gap after each, so that none is padded to another's width."""

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from trimtab.config.step import StepConfig
from trimtab.config.trocr_model import TrOCRModel
from trimtab.config.vision_model import VisionModel
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.images.pixels import from_row
from trimtab.tasks.recognition.datasets import image_sizes
from trimtab.tasks.stream import CutsSteps, divided, rounded_up
from trimtab.types import IGNORE, Ragged, Stream, TensorBatch

SLACK = 1.05
STANDARD_ERRORS = 4.0
GAP = 1
"""Columns of patches after each image of a strip that hold nothing: what a convolution of three columns reads beside
an image is then zero, as at the edge of an image alone."""


class ImageGlobalBatch(TextGlobalBatch):
    """The examples of one step: `source` has the bytes of each image, `target` the ids of its text."""

    __slots__ = ()

    @property
    def num_tokens(self) -> int:
        """Characters; what an image is cut into is the model's to say."""
        return int(self.target.offsets[-1])


@dataclass(frozen=True, slots=True)
class Patches:
    """A strip of images, and where in it the patches of each are."""

    pixels: UInt8[Tensor, "channels height width"]
    real: Bool[Tensor, "rows columns"]
    """Which patches of the strip belong to an image; the others are gaps, and what is below a lower image."""
    stream: Stream
    """A segment for each image: its patches column by column, as numbers of patches of the strip in reading order."""
    rows: Int[Tensor, "patches"]
    """The row of each patch in its image, from 0."""
    columns: Int[Tensor, "patches"]
    """Its column."""

    def tensors(self) -> list[Tensor]:
        """All of them."""
        return [self.pixels, self.real, self.rows, self.columns, *self.stream.tensors()]

    def map(self, change: Callable[[Tensor], Tensor]) -> "Patches":
        """The same with each tensor changed by a function."""
        return Patches(
            change(self.pixels),
            change(self.real),
            self.stream.map(change),
            change(self.rows),
            change(self.columns),
        )


@dataclass(frozen=True, slots=True)
class ImageBatch(TensorBatch):
    """One micro-batch; see `types.Batch`."""

    patches: Patches
    text: Stream
    """What a decoder is fed: the start symbol, then the characters."""
    labels: Int[Tensor, "characters"]
    """What it has to predict: the characters, then the end; IGNORE in slots that do not count."""
    widths: tuple[int, ...]
    """Columns of patches of each image."""
    heights: tuple[int, ...]
    """Rows of patches of each image."""
    lengths: tuple[int, ...]
    """Characters of each text, without its end."""
    num_targets: int
    num_tokens: int
    """Patches of the images."""

    @property
    def num_segments(self) -> int:
        """Images."""
        return len(self.widths)

    @property
    def num_patches(self) -> int:
        """Patches of the images, also where they do not count."""
        return sum(tall * wide for tall, wide in zip(self.heights, self.widths, strict=True))

    @property
    def num_slots(self) -> int:
        """Patches of the strip, gaps included."""
        return self.patches.real.numel()

    @property
    def static_key(self) -> Hashable:
        """Shapes of all tensors, and the sizes of images and texts, which the host reads."""
        shapes = tuple(tensor.shape for tensor in self.tensors())
        return (
            *shapes,
            self.widths,
            self.heights,
            self.lengths,
            self.patches.stream.max_seqlen,
            self.text.max_seqlen,
        )

    def tensors(self) -> list[Tensor]:
        """Those of the strip, of the text, and the labels."""
        return [*self.patches.tensors(), *self.text.tensors(), self.labels]

    def map(self, change: Callable[[Tensor], Tensor]) -> "ImageBatch":
        """The same batch with each tensor changed by a function."""
        return replace(
            self, patches=self.patches.map(change), text=self.text.map(change), labels=change(self.labels)
        )

    def blank(self) -> "ImageBatch":
        """The same images with texts that do not count; CTC has too few columns for them, which is a loss of 0."""
        labels, lengths = torch.full_like(self.labels, IGNORE), tuple(wide + 1 for wide in self.widths)
        return replace(self, labels=labels, lengths=lengths, num_targets=0, num_tokens=0)


@dataclass(frozen=True, slots=True)
class BatchShape:
    """How large batches are."""

    patch: tuple[int, int]
    num_batches: int
    """Batches of a whole step; more where it does not fit."""
    columns: int
    """Columns of patches of a strip, gaps included, at most."""
    rows: int
    """Rows of patches of the tallest image."""
    examples: int
    """Images at most."""
    characters: int
    """Characters and ends of texts at most."""
    widest: int
    """Columns of patches of the widest image."""
    longest: int
    """Characters of the longest text, its end included."""
    fixed: bool
    """Every batch has strips, streams and boundaries of one shape, for kernels that are compiled once."""
    sort: bool
    """A step is sorted by width before it is cut, for models that pad rows."""

    @property
    def tails(self) -> int:
        """Segments that fill up the streams of a batch, as many in both: attention of texts to images pairs them."""
        of_images, of_texts = self.columns / self.widest, self.characters / self.longest
        return math.ceil(max(of_images, of_texts)) if self.fixed else 0


def plan_shape(
    step: StepConfig,
    model: VisionModel | TrOCRModel,
    sample: tuple[np.ndarray, np.ndarray],
    *,
    largest: tuple[int, int],
    max_tokens: int,
    packed: bool,
    ranks: int = 1,
) -> BatchShape:
    """The shape for steps of `tokens_per_step` characters, in a multiple of `ranks` batches, from the sizes of
    images (`images 2`, pixels) and the lengths of texts of a `sample`. `largest` are height and width of the largest
    image that can come.

    A strip holds the mean width of a batch's images and four standard errors more, at least the widest one;
    `source_tokens_per_micro_batch` sets how many patches it holds.
    """
    (sizes, lengths), (height, width) = sample, model.patch
    columns = sizes[:, 1] / width + GAP
    num_batches, characters = divided(step, ranks=ranks)
    examples = characters / max(1.0, float(lengths.mean()))
    need = SLACK * examples * columns.mean() + STANDARD_ERRORS * math.sqrt(examples) * columns.std()
    rows, widest = -(-largest[0] // height), -(-largest[1] // width)
    given = step.source_tokens_per_micro_batch
    slots = math.ceil(need) if given is None else given // rows
    return BatchShape(
        patch=model.patch,
        num_batches=num_batches,
        columns=rounded_up(max(slots, widest + GAP), 16),
        rows=rows,
        examples=max(1, math.ceil(SLACK * examples + STANDARD_ERRORS * math.sqrt(examples))),
        characters=max(characters, max_tokens),
        widest=widest,
        longest=max_tokens,
        fixed=packed,
        sort=not packed,
    )


@dataclass(slots=True)
class Batching(CutsSteps):
    """Cuts steps into batches; see `tasks.task.Batching`."""

    start: int
    """The symbol that a decoder is fed first."""

    @property
    def resolved(self) -> dict[str, int]:
        """The budget that was chosen for the images, by its key of the recipe's `step`."""
        return {"source_tokens_per_micro_batch": self.shape.columns * self.shape.rows}

    def cut(self, window: TextGlobalBatch, shape: BatchShape | None = None) -> list[ImageBatch]:
        """A global batch in batches of the run's shape, or of another, in host memory."""
        return [*cut(window.source, window.target, shape or self.shape, start=self.start)]

    def whole_set(self, images: Ragged, ids: Ragged) -> Iterator[ImageBatch]:
        """A whole set in its order, in batches on the device."""
        longest = max(int(ids.lengths.max(initial=1)), self.shape.longest)
        shape = replace(
            self.shape,
            sort=False,
            fixed=False,
            longest=longest,
            characters=max(self.shape.characters, longest),
        )
        for batch in cut(images, ids, shape, start=self.start):
            yield batch.to(self.device)


def cut(images: Ragged, ids: Ragged, shape: BatchShape, *, start: int) -> Iterator[ImageBatch]:
    """The examples in batches, each of which takes what fits of the rest."""
    sizes = image_sizes(images) // np.array(shape.patch)
    if shape.sort:
        order = np.lexsort((ids.lengths, sizes[:, 1], sizes[:, 0]))
        images, ids, sizes = images.take(order), ids.take(order), sizes[order]
    ends = np.concatenate([[0], np.cumsum(sizes[:, 1] + GAP)])
    first = 0
    while first < len(images):
        by_width = int(np.searchsorted(ends, ends[first] + shape.columns, side="right")) - 1
        by_text = int(np.searchsorted(ids.offsets, ids.offsets[first] + shape.characters, side="right")) - 1
        stop = min(by_width, by_text, first + shape.examples)
        assert stop > first, "an example is larger than a batch"
        yield assemble(
            images.between(first, stop), ids.between(first, stop), sizes[first:stop], shape, start=start
        )
        first = stop


def assemble(images: Ragged, ids: Ragged, sizes: np.ndarray, shape: BatchShape, *, start: int) -> ImageBatch:
    """The batch of these examples; `sizes` are rows and columns of patches of each image."""
    widths, heights = sizes[:, 1].tolist(), sizes[:, 0].tolist()
    return ImageBatch(
        patches=strip_of(images, sizes, shape),
        text=text_stream(ids, shape, start=start),
        labels=torch.from_numpy(_filled(ids.values, shape.characters if shape.fixed else 0, IGNORE)),
        widths=tuple(widths),
        heights=tuple(heights),
        lengths=tuple((ids.lengths - 1).tolist()),
        num_targets=int(ids.offsets[-1]),
        num_tokens=int(sizes.prod(1).sum()),
    )


def _filled(values: np.ndarray, length: int, fill: int) -> np.ndarray:
    out = np.full(max(length, len(values)), fill, np.int64)
    out[: len(values)] = values
    return out


def strip_of(images: Ragged, sizes: np.ndarray, shape: BatchShape) -> Patches:
    """The images side by side; `sizes` are rows and columns of patches of each."""
    (height, width), count = shape.patch, len(images)
    rows = shape.rows if shape.fixed else int(sizes[:, 0].max())
    starts = np.concatenate([[0], np.cumsum(sizes[:, 1] + GAP)])
    columns = shape.columns if shape.fixed else int(starts[-1])
    arrays = [from_row(images.row(number)) for number in range(count)]
    pixels = np.zeros((arrays[0].shape[2], rows * height, columns * width), np.uint8)
    real = np.zeros((rows, columns), bool)
    numbers, own_rows, own_columns = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    for array, (tall, wide), first in zip(arrays, sizes.tolist(), starts[:-1].tolist(), strict=True):
        pixels[:, : tall * height, first * width : (first + wide) * width] = array.transpose(2, 0, 1)
        real[:tall, first : first + wide] = True
        column, row = np.divmod(np.arange(tall * wide), tall)
        numbers.append(row * columns + first + column)
        own_rows.append(row)
        own_columns.append(column)
    lengths = sizes.prod(1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    total = rows * columns if shape.fixed else int(offsets[-1])
    longest = shape.rows * shape.widest if shape.fixed else int(lengths.max())
    empty = int(np.flatnonzero(~real.reshape(-1))[0])
    stream = stream_of(np.concatenate(numbers), offsets, shape, total=total, longest=longest, fill=empty)
    return Patches(
        torch.from_numpy(pixels),
        torch.from_numpy(real),
        stream,
        torch.from_numpy(_filled(np.concatenate(own_rows), total, 0)),
        torch.from_numpy(_filled(np.concatenate(own_columns), total, 0)),
    )


def text_stream(ids: Ragged, shape: BatchShape, *, start: int) -> Stream:
    """What a decoder is fed of these texts."""
    fed = np.concatenate([[start], ids.values[:-1]])
    fed[ids.offsets[:-1]] = start
    longest = shape.longest if shape.fixed else int(ids.lengths.max())
    total = shape.characters if shape.fixed else len(fed)
    return stream_of(fed, ids.offsets, shape, total=total, longest=longest, fill=start)


def stream_of(
    ids: np.ndarray, offsets: np.ndarray, shape: BatchShape, *, total: int, longest: int, fill: int
) -> Stream:
    """A flat stream of these segments. Where the shape is fixed, what is left up to `total` is shared out evenly among
    segments of `fill`, none longer than `longest`, and repeated boundaries follow up to one number of segments."""
    used, count = int(offsets[-1]), len(offsets) - 1
    if shape.fixed:
        tail = used + -(-np.arange(1, shape.tails + 1) * (total - used) // shape.tails)
        offsets = np.concatenate([offsets, tail])
        offsets = np.pad(offsets, (0, shape.examples - count), mode="edge")
    lengths = np.diff(offsets)
    return Stream(
        ids=torch.from_numpy(_filled(ids, total, fill)),
        positions=torch.from_numpy(np.arange(total) - np.repeat(offsets[:-1], lengths)),
        segments=torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)),
        cu_seqlens=torch.from_numpy(offsets.astype(np.int32)),
        max_seqlen=longest,
    )
