"""The examples of one step as rows of ids, and those that were skipped."""

from dataclasses import dataclass

import numpy as np

from trimtab.types.ragged import Ragged


@dataclass(frozen=True, slots=True)
class DroppedExample:
    """An example that is not trained on, and why."""

    corpus: int
    line: int
    """Counted from 0."""
    reason: str


@dataclass(frozen=True, slots=True)
class GlobalBatch:
    """The examples that one step consumes; fixed by `tokens_per_step`, the seed and the data alone."""

    source: Ragged
    """Source ids, end symbol included."""
    target: Ragged
    """Target ids, end symbol included."""
    corpus: np.ndarray
    """For each example, the number of its corpus, int32."""
    line: np.ndarray
    """For each example, its line in the corpus, counted from 0, int64."""
    position: int
    """Where in the endless stream of examples the next window begins."""
    dropped: tuple[DroppedExample, ...] = ()
    """What was passed over between where the window before ended and `position`."""
    prompt: np.ndarray | None = None
    """For each example, how many leading target tokens the model is given and do not count, int32; None for none."""

    @property
    def num_targets(self) -> int:
        """Target tokens that count in the loss, of the whole window."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))

    @property
    def num_tokens(self) -> int:
        """Real source and target tokens."""
        return int(self.source.offsets[-1] + self.target.offsets[-1])
