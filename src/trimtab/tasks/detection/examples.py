"""The examples that the checks before the first step look at."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from trimtab.config.canvas import LARGEST_SIDE
from trimtab.tasks.detection.batches import Batching, BoxBatch, BoxGlobalBatch, assemble
from trimtab.tasks.detection.datasets import BoxDatasets, Example, from_bytes, letterbox_of
from trimtab.tasks.detection.letterbox import Letterbox
from trimtab.tasks.examples import CutTwoWays, unequal_parts
from trimtab.types import Ragged

FEW, FIRST, TO_CUT = 4, 32, 8
"""Images in a handful, for a mean loss that means something, and in a step that is cut in two ways."""


class NoUnknown(NamedTuple):
    """In place of a tokenizer: no category of a sample is unknown."""

    unknown: int = -1


class Boxes(NamedTuple):
    """What images have in place of tokens."""

    name: str
    tokenizer: NoUnknown
    rows: Ragged
    """The categories of the boxes of each image."""


@dataclass(slots=True)
class BoxExamples:
    """See `tasks.examples.Examples`. Only images of the sample's commonest canvas, those with boxes first."""

    datasets: BoxDatasets
    batching: Batching
    device: torch.device

    def few(self) -> BoxBatch:
        """A handful of images in one batch."""
        return self.one_batch(0, FEW)

    def first(self) -> list[BoxBatch]:
        """The first images in as few batches as they take."""
        return self.on_device(self.between(0, FIRST))

    def cuts(self) -> Iterator[CutTwoWays]:
        """Up to three steps of different images, each in one batch and in unequal ones."""
        usable = len(self.order())
        for start in (0, TO_CUT, 2 * TO_CUT):
            size = min(TO_CUT, usable - start)
            if size < (1 if start == 0 else 4):
                return
            pieces = [self.one_batch(a, b) for a, b in unequal_parts(start, size)]
            whole = self.one_batch(start, start + size)
            yield CutTwoWays(whole, pieces, max(1, whole.num_targets))

    def fullest(self) -> BoxBatch:
        """Images of the largest canvas with the most boxes, in host memory."""
        rows = self.datasets.sample.source
        boxes = [letterbox_of(rows.row(number)).canvas for number in range(len(rows))]
        height, width = max(boxes, key=lambda canvas: canvas[0] * canvas[1])
        assert max(height, width) <= LARGEST_SIDE
        count = int(self.datasets.sample.target.values.max(initial=1))
        letterbox = Letterbox(width, height, width, height, width, height)
        one = np.tile(np.array([[0.5, 0.5, 0.2, 0.1]], np.float32), (max(1, count), 1))
        pixels = np.full((height, width, 3), 128, np.uint8)
        example = Example(pixels, one, np.zeros(len(one), np.int64), letterbox)
        return assemble([example] * self.batching.shape.images)

    def sides(self) -> list[Boxes]:
        """The boxes of each image of the sample, for the facts of the run."""
        rows = self.datasets.sample.source
        found = [from_bytes(rows.row(number)).categories.tolist() for number in range(len(rows))]
        return [Boxes("boxes", NoUnknown(), Ragged.of(found))]

    def order(self) -> np.ndarray:
        """The images of the sample that checks use."""
        rows, counts = self.datasets.sample.source, self.datasets.sample.target.values
        canvases = [letterbox_of(rows.row(number)).canvas for number in range(len(rows))]
        common = max(sorted({*canvases}), key=canvases.count)
        own = [number for number, canvas in enumerate(canvases) if canvas == common]
        return np.array(sorted(own, key=lambda number: counts[number] == 0), np.int64)

    def between(self, start: int, stop: int) -> BoxGlobalBatch:
        """Some of the first images."""
        sample, order = self.datasets.sample, self.order()[start:stop]
        return BoxGlobalBatch.of_rows(sample.source.take(order), sample.target.take(order))

    def one_batch(self, start: int, stop: int) -> BoxBatch:
        """Some of the first images in one batch."""
        window = self.between(start, stop)
        rows = window.source
        batch = assemble([from_bytes(rows.row(number)) for number in range(len(rows))])
        return batch.to(self.device)

    def on_device(self, window: BoxGlobalBatch) -> list[BoxBatch]:
        """A step in as few batches as it takes, on the device."""
        return [batch.to(self.device) for batch in self.batching.cut(window)]


def blanked(batch: BoxBatch) -> BoxBatch:
    """The same batch with other pixels in every other image."""
    pixels = batch.pixels.clone()
    pixels[::2] = 255 - pixels[::2].flip(2)
    return replace(batch, pixels=pixels)
