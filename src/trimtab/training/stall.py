"""P902: steps that took far longer than those before, as where the process was stopped, or no batch came."""

from collections import deque
from dataclasses import dataclass, field

from trimtab.finding import Finding
from trimtab.guard.outlier import median
from trimtab.run_findings.steps import STEP_STALLED

MOST_SECONDS, MOST_STEPS = 20.0, 10.0
"""What is told of is longer than usual by more than this, and by the time of more than so many steps: machines that are
shared pause for seconds."""
REMEMBERED, FEWEST = 50, 5
"""Looks that the usual is the median of, and looks without which only the wait for batches counts: the first steps
compile."""


@dataclass(slots=True)
class Stalls:
    """Remembers how long steps take, by this process: another machine has another speed."""

    usual: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """Seconds a step of the last looks, oldest first."""

    def after(self, step: int, *, count: int, seconds: float, waited: float) -> Finding | None:
        """Counts `count` more steps, the last of them `step`, which took so many seconds together, with those in which
        there was no batch for them; the finding where they stalled."""
        known = len(self.usual) >= FEWEST
        usual = median(self.usual) if known else 0.0
        self.usual.append(seconds / count)
        longer = seconds - count * usual if known else waited
        if longer <= max(MOST_SECONDS, MOST_STEPS * usual):
            return None
        steps = f"step {step}" if count == 1 else f"steps {step - count + 1} to {step}"
        expected = f", where {count * usual:.2g} s are usual" if known else ""
        return STEP_STALLED.found(
            f"{steps} took {seconds:.0f} s{expected}; for {waited:.0f} s of it no batch was there"
        )
