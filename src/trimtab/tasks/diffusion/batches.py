"""Batches of images of one size, each with its class, its time, and the key of its noise."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from trimtab.config.step import StepConfig
from trimtab.data.order import stream_keys, uniform
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.diffusion.process import Process
from trimtab.tasks.stream import CutsSteps, divided
from trimtab.types import Ragged, TensorBatch

KEY = 8
"""Bytes before the pixels of a row: what all random numbers of the example follow from."""
BANDS = 4
"""Parts of the time, from little noise to much, of which evaluations report the loss."""
_TIME, _CLASS, _NOISE, _BAND = range(4)
"""What a random number is for."""


class DiffusionGlobalBatch(TextGlobalBatch):
    """The examples of one step: `source` has key and pixels of each image, `target` the number of its class."""

    __slots__ = ()

    @property
    def num_tokens(self) -> int:
        """Images."""
        return len(self.target)


@dataclass(frozen=True, slots=True)
class DiffusionBatch(TensorBatch):
    """One micro-batch; see `types.Batch`."""

    pixels: UInt8[Tensor, "images channels side side2"]
    labels: Int[Tensor, "images"]
    """The number of each image's class, or of no class."""
    times: Float[Tensor, "images"]
    keys: Int[Tensor, "images"]
    """What the noise follows from (`draws.normals`)."""
    counts: Float[Tensor, "images"]
    """1 for an image that counts, 0 for one that fills the batch up."""
    num_targets: int

    @property
    def num_tokens(self) -> int:
        """Images that count."""
        return self.num_targets

    @property
    def num_segments(self) -> int:
        """Images that count."""
        return self.num_targets

    @property
    def num_slots(self) -> int:
        """Images, also those that fill the batch up."""
        return len(self.labels)

    @property
    def static_key(self) -> Hashable:
        """Shapes of all tensors."""
        return tuple(tensor.shape for tensor in self.tensors())

    def tensors(self) -> list[Tensor]:
        """All of them."""
        return [self.pixels, self.labels, self.times, self.keys, self.counts]

    def map(self, change: Callable[[Tensor], Tensor]) -> "DiffusionBatch":
        """The same batch with each tensor changed by a function."""
        return DiffusionBatch(*map(change, self.tensors()), num_targets=self.num_targets)

    def blank(self) -> "DiffusionBatch":
        """A batch of the same shape in which nothing counts."""
        return replace(self, counts=torch.zeros_like(self.counts), num_targets=0)


@dataclass(frozen=True, slots=True)
class BatchShape:
    """How large batches are."""

    num_batches: int
    """Batches of a whole step."""
    images: int
    """Images of a batch at most."""
    fixed: bool
    """Every batch is filled up to this number, for kernels that are compiled once."""


def plan_shape(step: StepConfig, *, packed: bool, ranks: int = 1) -> BatchShape:
    """The shape for steps of `tokens_per_step` images, in a multiple of `ranks` batches."""
    return BatchShape(*divided(step, ranks=ranks), fixed=packed)


@dataclass(frozen=True, slots=True)
class NoiseSampling:
    """How times and classes follow from keys."""

    process: Process
    class_dropout: float
    no_class: int
    """The number that stands for no class."""

    def of_training(self, keys: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times by the distribution of the recipe, and labels of which some are hidden."""
        numbers = torch.from_numpy(uniform(keys, np.array([_TIME])))
        hidden = uniform(keys, np.array([_CLASS])) < self.class_dropout
        return self.process.times_of(numbers).float().numpy(), np.where(hidden, self.no_class, labels)

    def of_band(
        self, keys: np.ndarray, labels: np.ndarray, bands: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A time within the band of each image, from 0 to `BANDS - 1`, whatever is trained on; and the labels."""
        inside = uniform(keys, np.array([_BAND]))
        return (self.process.last * (bands + inside) / BANDS).astype(np.float32), labels


@dataclass(slots=True)
class Batching(CutsSteps):
    """Cuts steps into batches; see `tasks.task.Batching`."""

    side: int
    channels: int
    drawn: NoiseSampling

    @property
    def resolved(self) -> dict[str, int]:
        """Nothing was left open."""
        return {}

    def cut(self, window: TextGlobalBatch, size: int | None = None) -> list[DiffusionBatch]:
        """A global batch in batches of the run's size, or of another, in host memory."""
        keys, pixels = self.unpacked(window.source)
        times, labels = self.drawn.of_training(keys, window.target.values.astype(np.int64))
        size, fixed = size or self.shape.images, self.shape.fixed and size is None
        return [
            assembled(pixels[part], labels[part], times[part], keys[part], filled=size if fixed else 0)
            for part in slices(len(keys), size)
        ]

    def in_bands(self, rows: Ragged, labels: np.ndarray, bands: np.ndarray) -> Iterator[DiffusionBatch]:
        """A whole set in its order, each image at a time of its band, in batches on the device."""
        for part in slices(len(rows), self.shape.images):
            keys, pixels = self.unpacked(rows.between(part.start, part.stop))
            times, own = self.drawn.of_band(
                stream_keys(keys, bands[part]), labels[part].astype(np.int64), bands[part]
            )
            yield assembled(pixels, own, times, stream_keys(keys, bands[part])).to(self.device)

    def unpacked(self, rows: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Keys `images`, uint64, and pixels `images channels side side`, uint8, of rows of bytes."""
        whole = rows.values.reshape(len(rows), -1) if len(rows) else np.empty((0, KEY), np.uint8)
        keys = np.ascontiguousarray(whole[:, :KEY]).view("<u8").reshape(-1).astype(np.uint64)
        pixels = whole[:, KEY:].reshape(len(rows), self.side, self.side, self.channels)
        return keys, pixels.transpose(0, 3, 1, 2)


def packed_row(key: int, pixels: np.ndarray) -> np.ndarray:
    """A row of bytes: the key, then the pixels `side side channels`."""
    head = np.array([key], "<u8").view(np.uint8)
    return np.concatenate([head, np.ascontiguousarray(pixels).reshape(-1)])


def slices(count: int, size: int) -> Iterator[slice]:
    """0 to `count` in parts of at most `size`."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def assembled(
    pixels: np.ndarray, labels: np.ndarray, times: np.ndarray, keys: np.ndarray, *, filled: int = 0
) -> DiffusionBatch:
    """A batch of these images, filled up to a number of them with the first one, which does not count."""
    count = len(labels)
    order = np.arange(count) if filled <= count else np.pad(np.arange(count), (0, filled - count))
    noise = stream_keys(keys, _NOISE).view(np.int64)
    return DiffusionBatch(
        pixels=torch.from_numpy(np.ascontiguousarray(pixels[order])),
        labels=torch.from_numpy(labels[order]),
        times=torch.from_numpy(times[order]),
        keys=torch.from_numpy(noise[order]),
        counts=torch.from_numpy((np.arange(len(order)) < count).astype(np.float32)),
        num_targets=count,
    )
