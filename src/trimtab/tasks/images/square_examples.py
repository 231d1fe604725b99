"""The examples that the checks before the first step look at."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from trimtab.tasks.examples import CutTwoWays, unequal_parts
from trimtab.tasks.images.square_batches import SquareBatch, SquareBatching, SquareGlobalBatch
from trimtab.tasks.images.squares import Squares

FEW, FIRST, TO_CUT = 6, 256, 32
"""Examples in a handful, for a mean loss that means something, and in a step that is cut in two ways."""


@dataclass(slots=True)
class SquareExamples:
    """See `tasks.examples.Examples`."""

    datasets: Squares
    batching: SquareBatching
    device: torch.device

    def few(self) -> SquareBatch:
        """A handful of examples in one batch, in their order."""
        return self.one_batch(0, FEW)

    def first(self) -> list[SquareBatch]:
        """The first examples in as few batches as they take."""
        return self.on_device(self.between(0, FIRST))

    def cuts(self) -> Iterator[CutTwoWays]:
        """Up to three steps of different examples, each in one batch and in four unequal ones."""
        size = min(TO_CUT, len(self.datasets.sample.target))
        for start in (0, size, 2 * size):
            if start and start + size > len(self.datasets.sample.target):
                return
            pieces = [self.one_batch(a, b) for a, b in unequal_parts(start, size)]
            yield CutTwoWays(self.one_batch(start, start + size), pieces, size)

    def fullest(self) -> SquareBatch:
        """As many images as a batch holds, in host memory."""
        sample = self.datasets.sample
        places = np.arange(self.batching.shape.images) % len(sample.target)
        return self.batching.cut(
            SquareGlobalBatch.of_rows(sample.source.take(places), sample.target.take(places))
        )[0]

    def sides(self) -> list[object]:
        """None: there is no text."""
        return []

    def between(self, start: int, stop: int) -> SquareGlobalBatch:
        """Some of the first examples."""
        sample = self.datasets.sample
        stop = min(stop, len(sample.target))
        return SquareGlobalBatch.of_rows(
            sample.source.between(start, stop), sample.target.between(start, stop)
        )

    def one_batch(self, start: int, stop: int) -> SquareBatch:
        """Some of the first examples in one batch."""
        window = self.between(start, stop)
        (batch,) = self.batching.cut(window, len(window.target))
        return batch.to(self.device)

    def on_device(self, window: SquareGlobalBatch) -> list[SquareBatch]:
        """A step in as few batches as it takes, on the device."""
        return [batch.to(self.device) for batch in self.batching.cut(window)]
