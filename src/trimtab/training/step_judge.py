"""Judges finished steps: which were skipped and why, whether steps stall, how the weights move."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trimtab.config.guard import GuardConfig
from trimtab.finding import Finding
from trimtab.guard.outlier import median
from trimtab.run_findings.steps import STEP_STALLED
from trimtab.training.health import HealthCheck
from trimtab.training.quarantine import Quarantine
from trimtab.training.skips import Skips
from trimtab.training.stopwatch import Lap
from trimtab.types import GlobalBatch, SkipReason, StepReport, TrainState


class StepJudge:
    """Counts the steps by their plain numbers, and tells what there is to be told of them."""

    def __init__(
        self,
        guard: GuardConfig,
        new_health: Callable[[], HealthCheck],
        quarantine: Quarantine,
        *,
        tell: Callable[[Finding], None],
    ) -> None:
        self.guard, self.new_health, self.quarantine, self.tell = guard, new_health, quarantine, tell
        self.skips = Skips(guard)
        self.health = new_health()
        self.stalls = Stalls()

    def begin_at(self, state: TrainState) -> None:
        """Goes on from a state; health is looked at again."""
        self.skips = Skips(self.guard)
        self.skips.from_dict(state.guard.get("refusals", {}), masked=state.guard.get("masked", []))
        self.health = self.new_health()

    def to_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"refusals": self.skips.to_dict(), "masked": self.skips.masked}

    @property
    def must_decide(self) -> bool:
        """Whether so many steps were refused that it must be decided what that means."""
        return self.skips.must_decide

    def after_step(self, report: StepReport) -> None:
        """Measures a step that is still on the device; never waits for it."""
        self.health.after_step(report)

    def after_lap(self, lap: Lap, *, step: int, count: int) -> None:
        """Counts the time of `count` steps, the last of which is `step`."""
        self.health.waiting.add(steps=count, seconds=lap.whole, waited=lap.waited, device=lap.device)
        if stalled := self.stalls.after(step, count=count, seconds=lap.whole, waited=lap.waited):
            self.tell(stalled)

    def judge(
        self, window: GlobalBatch, skip_reason: SkipReason, line: dict[str, Any], *, position: int
    ) -> None:
        """Counts the verdict on a step by its line of the metrics; its window began at `position`."""
        step, loss, grad_norm = line["step"], line["loss"], line["grad_norm"]
        self.health.after_flush(
            grad_norm=grad_norm,
            clipped=line["clipped"],
            applied=not line["skipped"],
            learning_rate=line["learning_rate"],
        )
        for finding in self.skips.after(
            skip_reason, step=step, position=position, loss=loss, grad_norm=grad_norm
        ):
            self.tell(finding)
        traced = self.skips.broken == step
        for finding in self.quarantine.look_into(window, skip_reason, step=step, traced=traced):
            self.tell(finding)


MOST_SECONDS, MOST_STEPS = 20.0, 10.0
"""A stall is longer than usual by more than this, and by the time of more than so many steps: machines that are
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
        expected = f", where {count * usual:.2g} s is usual" if known else ""
        return STEP_STALLED.found(
            f"{steps} took {seconds:.0f} s{expected}; for {waited:.0f} s of that it waited for data"
        )
