"""What the checks before step 1 look at: a few examples in batches, and the pieces of the run around them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import torch

from trimtab.config.run import Recipe
from trimtab.distributed.sharding import Sharding
from trimtab.run_clock import RunClock
from trimtab.step.learning_rate import LearningRate
from trimtab.step.precision import Resolved
from trimtab.step.stepper import Stepper
from trimtab.types import Batch


@dataclass(frozen=True, slots=True)
class CutTwoWays:
    """One global batch, whole and in unequal pieces."""

    whole: Batch
    pieces: Sequence[Batch]
    num_targets: int


def unequal_parts(start: int, size: int) -> list[tuple[int, int]]:
    """Up to four parts of `size` examples from `start` on, each with its bounds; the first is the smallest."""
    bounds = [start + number * number * size // 16 for number in range(5)]
    return [(first, stop) for first, stop in pairwise(bounds) if stop > first]


@runtime_checkable
class Examples(Protocol):
    """The first examples of the stream, on the device."""

    def few(self) -> Batch:
        """A handful of them in one batch."""
        ...

    def first(self) -> Sequence[Batch]:
        """Enough of them for a mean loss that means something."""
        ...

    def cuts(self) -> Iterator[CutTwoWays]:
        """Up to three global batches of different examples."""
        ...

    def fullest(self) -> Batch:
        """A batch as large as any can be, in host memory."""
        ...


@runtime_checkable
class Checked(Protocol):
    """The pieces of a run that checks look at; what `build` gives has them."""

    recipe: Recipe
    device: torch.device
    precision: Resolved
    model: Any
    batching: Any
    """The task's `Batching`."""
    stepper: Stepper
    sharding: Sharding | None
    clock: RunClock
    learning_rate: LearningRate
    evaluation_model: Any
    """Its `copy()` gives the model as an evaluation scores it."""
    examples: Any
    """The task's `Examples`."""
    task: Any
    datasets: Any
    """The task's datasets."""
