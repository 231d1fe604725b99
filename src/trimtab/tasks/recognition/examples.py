"""The examples that the checks before the first step look at."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from trimtab.tasks.examples import CutTwoWays, unequal_parts
from trimtab.tasks.images.feed import joined
from trimtab.tasks.images.pixels import to_row
from trimtab.tasks.recognition.batches import GAP, Batching, ImageBatch, ImageGlobalBatch
from trimtab.tasks.recognition.charset import SPECIAL, Charset
from trimtab.tasks.recognition.datasets import ImageDatasets
from trimtab.types import Ragged

FEW, FIRST, TO_CUT = 6, 128, 32
"""Examples in a handful, for a mean loss that means something, and in a step that is cut in two ways."""


class Texts(NamedTuple):
    """What is read character by character."""

    name: str
    tokenizer: Charset
    rows: Ragged
    """Ids of the first texts."""


@dataclass(slots=True)
class ImageExamples:
    """See `tasks.examples.Examples`."""

    datasets: ImageDatasets
    batching: Batching
    device: torch.device

    def few(self) -> ImageBatch:
        """A handful of examples in one batch, in their order."""
        return self.one_batch(0, FEW)

    def first(self) -> list[ImageBatch]:
        """The first examples in as few batches as they take."""
        return self.on_device(self.between(0, FIRST))

    def cuts(self) -> Iterator[CutTwoWays]:
        """Up to three steps of different examples, each in one batch and in four unequal ones."""
        for start in (0, TO_CUT, 2 * TO_CUT):
            size = self.capacity(start, TO_CUT)
            if start and size < 4:
                return
            pieces = [self.between(a, b) for a, b in unequal_parts(start, size)]
            window = self.between(start, start + size)
            yield CutTwoWays(
                self.one_batch(start, start + size),
                [batch for piece in pieces for batch in self.on_device(piece)],
                window.num_targets,
            )

    def fullest(self) -> ImageBatch:
        """Images of the greatest size with long texts, as many as a batch holds, in host memory."""
        shape, charset = self.batching.shape, self.datasets.charset
        height, width = shape.patch[0] * shape.rows, shape.patch[1] * shape.widest
        length = max(1, min(shape.longest - 1, shape.widest // 2))
        count = shape.columns // (shape.widest + GAP)
        count = max(1, min(shape.examples, count, shape.characters // (length + 1)))
        channels = self.datasets.reader.images.num_channels
        row = to_row(np.full((height, width, channels), 128, np.uint8))
        last = charset.num_ids - 1
        text = [SPECIAL if number % 2 else last for number in range(length)]
        return self.batching.cut(
            ImageGlobalBatch.of_rows(joined([row] * count), Ragged.of([[*text, charset.end]] * count))
        )[0]

    def sides(self) -> list[Texts]:
        """The characters, with the ids of the first texts."""
        return [Texts("text", self.datasets.charset, self.datasets.sample.target)]

    def between(self, start: int, stop: int) -> ImageGlobalBatch:
        """Some of the first examples."""
        sample = self.datasets.sample
        stop = min(stop, len(sample.target))
        return ImageGlobalBatch.of_rows(
            sample.source.between(start, stop), sample.target.between(start, stop)
        )

    def capacity(self, start: int, most: int) -> int:
        """How many of the examples from a place on fit into one batch, at most so many."""
        shape, sample = self.batching.shape, self.datasets.sample
        columns = np.cumsum(self.datasets.sizes[start:, 1] // shape.patch[1] + GAP)
        characters = sample.target.offsets[start + 1 :] - sample.target.offsets[start]
        fits = (columns <= shape.columns) & (characters <= shape.characters)
        return min(most, shape.examples, int(fits.sum()))

    def one_batch(self, start: int, stop: int) -> ImageBatch:
        """Some of the first examples, as many as fit, in one batch in their order."""
        window = self.between(start, start + self.capacity(start, stop - start))
        (batch,) = self.batching.cut(window, replace(self.batching.shape, sort=False))
        return batch.to(self.device)

    def on_device(self, window: ImageGlobalBatch) -> list[ImageBatch]:
        """A step in as few batches as it takes, on the device."""
        return [batch.to(self.device) for batch in self.batching.cut(window)]
