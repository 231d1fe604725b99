"""Detects clipping that almost always acts, or never."""

import math
from collections import deque
from dataclasses import dataclass, field
from statistics import median

from trimtab.finding import Finding
from trimtab.run_findings.steps import CLIP_OUT_OF_REACH, CLIPS_ALMOST_ALWAYS

WINDOW = 1000
"""Newest steps that are judged."""
MOST_CLIPPED = 0.8
"""Share of them that may be clipped."""
HARD = 2.0
"""A clip that takes off less than this factor at the median changes little: the demo, a healthy run, ends with 97% of
its steps clipped, by 1.14 at the median."""
FEWEST = 500
"""Steps without which nothing is said of clipping too much."""
FAR = 10.0
"""A gradient that stays this many times below the clip would have to become a large spike before it is clipped."""
FEWEST_WITHOUT = 3000
"""Steps without which nothing is said of never clipping."""


@dataclass(slots=True)
class ClipWatch:
    """Counts clipped steps. Plain numbers, from any loop; it need not be saved, since it only looks at what is new."""

    at: float
    """The norm above which gradients are scaled down."""
    newest: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """Norm, and whether it was clipped."""
    steps: int = 0
    largest: float = 0.0
    """The largest norm of all steps that were counted."""

    def add(self, grad_norm: float, *, clipped: bool) -> None:
        """Counts one step, unless its norm is no number."""
        if math.isfinite(grad_norm):
            self.steps += 1
            self.largest = max(self.largest, grad_norm)
            self.newest.append((grad_norm, clipped))

    @property
    def share(self) -> float:
        """Share of the newest steps that were clipped; NaN before the first."""
        return sum(clipped for _, clipped in self.newest) / len(self.newest) if self.newest else math.nan

    @property
    def typical(self) -> float:
        """The median norm of the newest steps; NaN before the first."""
        return median(norm for norm, _ in self.newest) if self.newest else math.nan

    def look(self) -> Finding | None:
        """S922 where almost every step is clipped, S923 where none ever comes near."""
        if len(self.newest) >= FEWEST and self.share > MOST_CLIPPED and self.typical > HARD * self.at:
            return self._always()
        if self.steps >= FEWEST_WITHOUT and 0 < self.largest * FAR < self.at:
            return self._never()
        return None

    def _always(self) -> Finding:
        return CLIPS_ALMOST_ALWAYS.found(
            f"{self.share:.0%} of the last {len(self.newest)} steps were clipped (bound {MOST_CLIPPED:.0%}); "
            f"the gradient norm is {self.typical:.3g} at the median, the clip {self.at:g}",
            fix=f"set step.clip.at to {rounded(2 * self.typical):g}, twice the median; where the norm was lower "
            "before, lower the learning rate",
        )

    def _never(self) -> Finding:
        return CLIP_OUT_OF_REACH.found(
            f"in {self.steps:,} steps the largest gradient norm was {self.largest:.3g}, and the clip is at "
            f"{self.at:g}",
            fix=f"set step.clip.at to {rounded(3 * self.largest):g}, or `step.clip.kind: adaptive`",
        )


def rounded(value: float) -> float:
    """To one digit, as a setting is written."""
    return float(f"{value:.0e}")
