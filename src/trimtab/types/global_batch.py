"""The examples of one step, as far as every task has them, and those that were skipped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np


@dataclass(frozen=True, slots=True)
class DroppedExample:
    """An example that is not trained on, and why."""

    corpus: int
    line: int
    """Counted from 0."""
    reason: str


@runtime_checkable
class GlobalBatch(Protocol):
    """The examples that one step consumes; fixed by `tokens_per_step`, the seed and the data alone. What an example is
    made of only its task knows, which cuts these into micro-batches."""

    @property
    def corpus(self) -> np.ndarray:
        """For each example, the number of its corpus, int32."""
        ...

    @property
    def line(self) -> np.ndarray:
        """For each example, its line in the corpus, counted from 0, int64."""
        ...

    @property
    def position(self) -> int:
        """Where in the endless stream of examples the next global batch begins."""
        ...

    @property
    def dropped(self) -> Sequence[DroppedExample]:
        """What was passed over between where the global batch before ended and `position`."""
        ...

    @property
    def num_targets(self) -> int:
        """Targets that count in the loss, of the whole step."""
        ...

    @property
    def num_tokens(self) -> int:
        """Real tokens, or items where a task has no tokens."""
        ...
