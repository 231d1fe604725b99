"""Batches of images of one size, each with its class and the key of its random numbers."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.images.squares import Squares, images_of, slices, unpacked
from trimtab.tasks.stream import CutsSteps, divided, mixture_opener, step_size
from trimtab.tasks.task import OpenMixture
from trimtab.types import IGNORE, Ragged, TensorBatch

Own = TypeVar("Own", bound="SquareBatch")


class SquareGlobalBatch(TextGlobalBatch):
    """The examples of one step: `source` has key and pixels of each image, `target` the number of its class."""

    __slots__ = ()

    @property
    def num_tokens(self) -> int:
        """Images."""
        return len(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareBatch(TensorBatch):
    """One micro-batch; see `types.Batch`."""

    pixels: UInt8[Tensor, "images channels side side2"]
    labels: Int[Tensor, "images"]
    """The number of each image's class, or of no class."""
    keys: Int[Tensor, "images"]
    """What random numbers of the device follow from."""
    counts: Float[Tensor, "images"]
    """1 for an image that counts, 0 for one that fills the batch up."""
    num_targets: int

    @property
    def targets(self) -> Int[Tensor, "images"]:
        """The numbers of the classes; IGNORE for images that do not count."""
        return torch.where(self.counts > 0, self.labels, IGNORE)

    @property
    def num_tokens(self) -> int:
        """Images that count."""
        return self.num_targets

    @property
    def num_segments(self) -> int:
        """Images that count."""
        return self.num_targets

    @property
    def max_seqlen(self) -> int:
        """No image has more patches, nor with registers."""
        return self.pixels.shape[2] ** 2

    @property
    def num_slots(self) -> int:
        """Images, also those that fill the batch up."""
        return len(self.labels)

    @property
    def static_key(self) -> Hashable:
        """Shapes of all tensors."""
        return tuple(tensor.shape for tensor in self.tensors())

    def named_tensors(self) -> dict[str, Tensor]:
        """All of them, by the name of their field."""
        return {"pixels": self.pixels, "labels": self.labels, "keys": self.keys, "counts": self.counts}

    def tensors(self) -> list[Tensor]:
        """All of them."""
        return [*self.named_tensors().values()]

    def map(self: Own, change: Callable[[Tensor], Tensor]) -> Own:
        """The same batch with each tensor changed by a function."""
        return replace(self, **{name: change(tensor) for name, tensor in self.named_tensors().items()})

    def blank(self: Own) -> Own:
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


@dataclass(slots=True)
class SquareBatching(CutsSteps):
    """Cuts steps into batches; see `tasks.task.Batching`."""

    side: int
    channels: int

    @property
    def resolved(self) -> dict[str, int]:
        """Nothing was left open."""
        return {}

    def cut(self, window: TextGlobalBatch, size: int | None = None) -> list[SquareBatch]:
        """A global batch in batches of the run's size, or of another, in host memory."""
        size, fixed = size or self.shape.images, self.shape.fixed and size is None
        return [*self.in_order(window.source, window.target.values, size=size, fixed=fixed)]

    def whole_set(self, rows: Ragged, labels: np.ndarray) -> Iterator[SquareBatch]:
        """A whole set in its order, in batches on the device."""
        return (batch.to(self.device) for batch in self.in_order(rows, labels, size=self.shape.images))

    def in_order(
        self, rows: Ragged, labels: np.ndarray, *, size: int, fixed: bool = False
    ) -> Iterator[SquareBatch]:
        """Images in batches of a size, in host memory."""
        for part in slices(len(rows), size):
            keys, pixels = unpacked(
                rows.between(part.start, part.stop), side=self.side, channels=self.channels
            )
            yield SquareBatch(
                **assembled(pixels, labels[part].astype(np.int64), keys, filled=size if fixed else 0)
            )


def plan_batches(
    recipe: Recipe, datasets: Squares, *, packed: bool, device: torch.device, ranks: int = 1
) -> SquareBatching:
    """The batches of the run; `packed` gives them one shape, for kernels that are compiled once."""
    images = images_of(recipe)
    return SquareBatching(
        shape=plan_shape(recipe.step, packed=packed, ranks=ranks),
        side=images.size,
        channels=images.num_channels,
        tokens_at=partial(step_size, recipe.step),
        device=device,
    )


def open_mixtures(recipe: Recipe, datasets: Squares) -> OpenMixture:
    """See `Task.open_mixture`."""
    return mixture_opener(recipe, datasets.feed, batch=SquareGlobalBatch, max_targets=1)


def assembled(pixels: np.ndarray, labels: np.ndarray, keys: np.ndarray, *, filled: int = 0) -> dict[str, Any]:
    """The fields of a batch of these images, filled up to a number of them with the first one, which does not count;
    keys are uint64."""
    order = filling(len(labels), filled)
    return {
        "pixels": torch.from_numpy(np.ascontiguousarray(pixels[order])),
        "labels": torch.from_numpy(labels[order]),
        "keys": torch.from_numpy(keys.view(np.int64)[order]),
        "counts": torch.from_numpy((np.arange(len(order)) < len(labels)).astype(np.float32)),
        "num_targets": len(labels),
    }


def filling(count: int, filled: int) -> np.ndarray:
    """The numbers 0 to `count`, then 0 up to a length of `filled`."""
    return np.arange(count) if filled <= count else np.pad(np.arange(count), (0, filled - count))
