"""The examples that the checks before the first step look at."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.classification.batches import Batching, LabelledBatch, LabelledTexts
from trimtab.tasks.classification.datasets import Labelled, label_rows
from trimtab.tasks.examples import CutTwoWays, unequal_parts
from trimtab.tasks.text.datasets import Side
from trimtab.types import Ragged

FEW, FIRST, TO_CUT = 8, 256, 64
"""Examples in a handful, for a mean loss that means something, and in a step that is cut in two ways."""


@dataclass(slots=True)
class LabelledExamples:
    """See `tasks.examples.Examples`."""

    datasets: Labelled
    batching: Batching
    device: torch.device

    def few(self) -> LabelledBatch:
        """A handful of examples in one batch, in their order."""
        return self.one_batch(0, FEW)

    def first(self) -> list[LabelledBatch]:
        """The first examples in as few batches as they take."""
        return self.on_device(self.between(0, FIRST))

    def cuts(self) -> Iterator[CutTwoWays]:
        """Up to three steps of different examples, each in one batch and in four unequal ones."""
        size = self.capacity(TO_CUT)
        for start in (0, size, 2 * size):
            if start and start + 4 > len(self.datasets.sample.target):
                return
            window = self.between(start, start + size)
            count = len(window.target)
            pieces = [self.between(a, b) for a, b in unequal_parts(start, count)]
            yield CutTwoWays(
                self.in_one(window),
                [batch for piece in pieces for batch in self.on_device(piece)],
                window.num_targets,
            )

    def fullest(self) -> LabelledBatch:
        """Texts of the greatest length, as many as a batch holds, in host memory."""
        shape, longest = self.batching.shape, self.datasets.feed.max_tokens
        rows = max(1, min(shape.examples, shape.slots // longest))
        text = Ragged.of([[self.datasets.tokenizer.unknown] * longest] * rows)
        return self.batching.cut(window_of(text, np.zeros(rows, np.int32)))[0]

    def sides(self) -> list[Side]:
        """The vocabulary, with the ids of the first examples."""
        return [Side("text", self.datasets.tokenizer, self.datasets.sample.source, "data.tokenizer", 0)]

    def between(self, start: int, stop: int) -> LabelledTexts:
        """Some of the first examples."""
        sample = self.datasets.sample
        stop = min(stop, len(sample.target))
        return window_of(sample.source.between(start, stop), sample.target.values[start:stop])

    def capacity(self, most: int) -> int:
        """How many of the first examples fit into one batch, at most so many."""
        shape, sample = self.batching.shape, self.datasets.sample
        # Sums from any place on, so that later examples fit as well as the first ones do.
        longest = int(sample.source.lengths.max())
        return max(1, min(most, shape.examples, shape.slots // longest, len(sample.target)))

    def one_batch(self, start: int, stop: int) -> LabelledBatch:
        """Some of the first examples, as many as fit, in one batch in their order."""
        return self.in_one(self.between(start, start + self.capacity(stop - start)))

    def in_one(self, window: LabelledTexts) -> LabelledBatch:
        """Examples that fit into one batch, in one batch in their order."""
        (batch,) = self.batching.cut(window, replace(self.batching.shape, sort=False))
        return batch.to(self.device)

    def on_device(self, window: TextGlobalBatch) -> list[LabelledBatch]:
        """A step in as few batches as it takes, on the device."""
        return [batch.to(self.device) for batch in self.batching.cut(window)]


def window_of(text: Ragged, labels: np.ndarray) -> LabelledTexts:
    """Texts and their labels as a step of corpus 0."""
    return LabelledTexts.of_rows(text, label_rows(labels))
