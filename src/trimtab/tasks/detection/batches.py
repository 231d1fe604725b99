"""Batches of images with their boxes. Only images of one canvas share a batch: none is padded to another's size."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from trimtab.config.step import StepConfig
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.detection.datasets import Example, from_bytes, letterbox_of
from trimtab.tasks.stream import CutsSteps, divided
from trimtab.types import Ragged, TensorBatch


class BoxGlobalBatch(TextGlobalBatch):
    """The examples of one step: `source` has the bytes of each image and its boxes, `target` how many boxes it has.
    `tokens_per_step` counts images; what the loss is divided by are boxes."""

    __slots__ = ()

    @property
    def num_targets(self) -> int:
        """Boxes of the step."""
        return int(self.target.values.sum())

    @property
    def num_tokens(self) -> int:
        """Images."""
        return len(self.target)


@dataclass(frozen=True, slots=True)
class BoxBatch(TensorBatch):
    """One micro-batch; see `types.Batch`."""

    pixels: UInt8[Tensor, "images 3 height width"]
    inner: Int[Tensor, "images 2"]
    """Height and width of what each image covers of its canvas; the rest is filled up."""
    boxes: Float[Tensor, "boxes 4"]
    """Center, width and height as shares of the canvas, of one image after another."""
    categories: Int[Tensor, "boxes"]
    counts: tuple[int, ...]
    """Boxes of each image."""
    num_targets: int
    """Boxes that count."""

    @property
    def num_tokens(self) -> int:
        """Images."""
        return len(self.counts)

    @property
    def num_slots(self) -> int:
        """Images; a batch has no empty places."""
        return len(self.counts)

    @property
    def num_segments(self) -> int:
        """Images."""
        return len(self.counts)

    @property
    def static_key(self) -> Hashable:
        """Shapes of all tensors, and the number of boxes of each image, which the host reads."""
        return (*(tensor.shape for tensor in self.tensors()), self.counts)

    def tensors(self) -> list[Tensor]:
        """All of them."""
        return [self.pixels, self.inner, self.boxes, self.categories]

    def map(self, change: Callable[[Tensor], Tensor]) -> "BoxBatch":
        """The same batch with each tensor changed by a function."""
        return replace(
            self,
            pixels=change(self.pixels),
            inner=change(self.inner),
            boxes=change(self.boxes),
            categories=change(self.categories),
        )

    def blank(self) -> "BoxBatch":
        """The same images, of which nothing counts."""
        return replace(
            self,
            boxes=self.boxes[:0],
            categories=self.categories[:0],
            counts=(0,) * len(self.counts),
            num_targets=0,
        )


@dataclass(frozen=True, slots=True)
class BatchShape:
    """How large batches are."""

    num_batches: int
    """Batches of a whole step whose images have one canvas; more where they have several."""
    images: int
    """Images of a batch at most."""


def plan_shape(step: StepConfig, *, ranks: int = 1) -> BatchShape:
    """The shape for steps of `tokens_per_step` images, in a multiple of `ranks` batches."""
    return BatchShape(*divided(step, ranks=ranks))


@dataclass(slots=True)
class Batching(CutsSteps):
    """Cuts steps into batches; see `tasks.task.Batching`."""

    @property
    def resolved(self) -> dict[str, int]:
        """Nothing was left open."""
        return {}

    def cut(self, window: TextGlobalBatch, images: int | None = None) -> list[BoxBatch]:
        """A global batch in batches of at most so many images, by canvas, in host memory."""
        return [*cut(window.source, images or self.shape.images)]

    def whole_set(self, examples: Iterable[Example]) -> Iterator[tuple[list[int], BoxBatch]]:
        """A set in batches on the device, with the numbers of their images; those of one canvas are batched together
        as they come, so that the pixels of at most one batch for each canvas are held."""
        waiting: dict[tuple[int, int], list[tuple[int, Example]]] = {}
        for number, example in enumerate(examples):
            own = waiting.setdefault(example.letterbox.canvas, [])
            own.append((number, example))
            if len(own) == self.shape.images:
                yield self._batch(waiting.pop(example.letterbox.canvas))
        for own in waiting.values():
            yield self._batch(own)

    def _batch(self, own: list[tuple[int, Example]]) -> tuple[list[int], BoxBatch]:
        batch = assemble([example for _, example in own])
        return [number for number, _ in own], batch.to(self.device)


def cut(rows: Ragged, images: int) -> Iterator[BoxBatch]:
    """The examples by canvas, in the order in which the canvases come first, each in even batches of at most so many
    images."""
    by_canvas: dict[tuple[int, int], list[int]] = {}
    for number in range(len(rows)):
        by_canvas.setdefault(letterbox_of(rows.row(number)).canvas, []).append(number)
    for numbers in by_canvas.values():
        parts = -(-len(numbers) // images)
        for part in np.array_split(np.array(numbers), parts):
            yield assemble([from_bytes(rows.row(int(number))) for number in part])


def assemble(examples: Sequence[Example]) -> BoxBatch:
    """The batch of examples with one canvas."""
    pixels = np.stack([example.pixels.transpose(2, 0, 1) for example in examples])
    inner = [(each.letterbox.inner_height, each.letterbox.inner_width) for each in examples]
    counts = tuple(len(example.boxes) for example in examples)
    return BoxBatch(
        pixels=torch.from_numpy(pixels),
        inner=torch.tensor(inner),
        boxes=torch.from_numpy(np.concatenate([example.boxes for example in examples]).astype(np.float32)),
        categories=torch.from_numpy(np.concatenate([example.categories for example in examples])),
        counts=counts,
        num_targets=sum(counts),
    )
