"""The share of its time that a loop waits for data."""

from dataclasses import dataclass

from trimtab.finding import Finding
from trimtab.run_findings.steps import WAITS_FOR_DATA

MOST_WAITING = 0.1
SHORTEST = 60.0
"""Seconds of training without which nothing is said."""
FIRST_STEPS = 100
"""Steps that are not counted: files are opened, caches filled, kernels compiled."""


@dataclass(slots=True)
class DataWait:
    """Adds up what a loop measured. Plain numbers, from any loop; it need not be saved."""

    skipped: int = 0
    """Of the first steps, how many are over."""
    seconds: float = 0.0
    """Training since the last look that had enough of it."""
    waited: float = 0.0
    """Of these, what was lost with waiting for data."""
    verdict: Finding | None = None
    """Of the last stretch that was long enough."""

    def add(self, *, steps: int, seconds: float, waited: float, device: float = 0.0) -> None:
        """Counts a stretch of steps that took so long, of which the loop waited for data, and for the device.

        A loop runs ahead of a GPU and may then wait for data while the GPU is busy. Nothing is lost by that, and it
        shows: the loop waits for the GPU later. So only what is left without that wait counts as lost.
        """
        if self.skipped < FIRST_STEPS:
            self.skipped += steps
            return
        self.seconds += seconds
        self.waited += max(0.0, waited - device)

    @property
    def share(self) -> float:
        """Of the counted time; 0 before there is any."""
        return self.waited / self.seconds if self.seconds > 0 else 0.0

    def look(self) -> Finding | None:
        """P901 where too much of the time was lost; it holds until another long stretch says otherwise."""
        if self.seconds >= SHORTEST:
            self.verdict = self._finding() if self.share > MOST_WAITING else None
            self.seconds = self.waited = 0.0
        return self.verdict

    def _finding(self) -> Finding:
        return WAITS_FOR_DATA.found(
            f"{self.share:.0%} of the last {self.seconds:.0f} seconds of training were spent waiting for data "
            f"(bound {MOST_WAITING:.0%})"
        )
