"""S905: the share of recent steps that were skipped."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trimtab.finding import Finding
from trimtab.run_findings.steps import TOO_MANY_REFUSED


@dataclass(slots=True)
class Budget:
    """How many of the last `window` steps may be refused."""

    window: int = 1000
    warn_above: float = 0.01
    stop_above: float = 0.05
    steps: int = 0
    refused: deque[int] = field(default_factory=deque[int])
    """Numbers of the refused steps that are still in the window."""
    warned: bool = False

    def after(self, *, refused: bool) -> Finding | None:
        """Counts one more step; the finding when a bound is first passed, or passed for good."""
        self.steps += 1
        if refused:
            self.refused.append(self.steps)
        while self.refused and self.refused[0] <= self.steps - self.window:
            self.refused.popleft()
        share = self.share_of_window
        if self.over:
            return self._finding("error", share)
        if share > self.warn_above and not self.warned:
            self.warned = True
            return self._finding("warning", share)
        if share <= self.warn_above / 2:
            self.warned = False
        return None

    @property
    def share(self) -> float:
        """Share of the last `window` steps that were refused; of all steps where there were fewer yet."""
        return len(self.refused) / max(1, min(self.steps, self.window))

    @property
    def share_of_window(self) -> float:
        """Of a whole window, even where there were fewer steps yet: what the bounds apply to, since one refused step of
        the first ten says little."""
        return len(self.refused) / self.window

    @property
    def over(self) -> bool:
        """Whether the run should stop."""
        return self.share_of_window > self.stop_above

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        return {"steps": self.steps, "refused": list(self.refused), "warned": self.warned}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        self.steps = int(saved.get("steps", 0))
        self.refused = deque(saved.get("refused", ()))
        self.warned = bool(saved.get("warned", False))

    def _finding(self, severity: Any, share: float) -> Finding:
        return TOO_MANY_REFUSED.found(
            f"{len(self.refused)} of the last {min(self.steps, self.window)} steps were skipped, above "
            f"{self.stop_above if self.over else self.warn_above:.0%} of {self.window}",
            severity=severity,
        )
