"""Batches of images of one size, each with its class, its time, and the key of its noise."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.data.order import stream_keys, uniform
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.diffusion.process import Process
from trimtab.tasks.images.square_batches import SquareBatch, SquareBatching, assembled, filling
from trimtab.tasks.images.squares import slices, unpacked
from trimtab.types import Ragged

BANDS = 4
"""Parts of the time, from little noise to much, of which evaluations report the loss."""
_TIME, _CLASS, _NOISE, _BAND = range(4)
"""What a random number is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionBatch(SquareBatch):
    """One micro-batch; see `types.Batch`. Its noise follows from the keys (`draws.normals`)."""

    times: Float[Tensor, "images"]

    def named_tensors(self) -> dict[str, Tensor]:
        """All of them, by the name of their field."""
        return {**SquareBatch.named_tensors(self), "times": self.times}


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
class Batching(SquareBatching):
    """Cuts steps into batches; see `tasks.task.Batching`."""

    drawn: NoiseSampling

    def cut(self, window: TextGlobalBatch, size: int | None = None) -> list[DiffusionBatch]:
        """A global batch in batches of the run's size, or of another, in host memory."""
        keys, pixels = unpacked(window.source, side=self.side, channels=self.channels)
        times, labels = self.drawn.of_training(keys, window.target.values.astype(np.int64))
        size, fixed = size or self.shape.images, self.shape.fixed and size is None
        return [
            with_noise(pixels[part], labels[part], times[part], keys[part], filled=size if fixed else 0)
            for part in slices(len(keys), size)
        ]

    def in_bands(self, rows: Ragged, labels: np.ndarray, bands: np.ndarray) -> Iterator[DiffusionBatch]:
        """A whole set in its order, each image at a time of its band, in batches on the device."""
        for part in slices(len(rows), self.shape.images):
            keys, pixels = unpacked(
                rows.between(part.start, part.stop), side=self.side, channels=self.channels
            )
            times, own = self.drawn.of_band(
                stream_keys(keys, bands[part]), labels[part].astype(np.int64), bands[part]
            )
            yield with_noise(pixels, own, times, stream_keys(keys, bands[part])).to(self.device)


def with_noise(
    pixels: np.ndarray, labels: np.ndarray, times: np.ndarray, keys: np.ndarray, *, filled: int = 0
) -> DiffusionBatch:
    """A batch of these images, filled up to a number of them with the first one, which does not count."""
    drawn = torch.from_numpy(times[filling(len(labels), filled)])
    return DiffusionBatch(**assembled(pixels, labels, stream_keys(keys, _NOISE), filled=filled), times=drawn)
