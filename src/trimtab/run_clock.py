"""How far a run is, in whichever unit a length was written, and when it is over."""

import math
from dataclasses import dataclass
from typing import assert_never

from trimtab.types import TrainState
from trimtab.units import Duration, LengthUnit


@dataclass(frozen=True, slots=True)
class RunClock:
    """Measures durations against a run's state; the one fact it needs is the size of an epoch."""

    positions_per_epoch: int

    def done(self, unit: LengthUnit, state: TrainState) -> float:
        """How much of a unit the run has behind it, since its schedule and length were last reset."""
        origin = state.origin
        match unit:
            case "steps":
                return state.step - origin.get("step", 0.0)
            case "tokens":
                return state.target_tokens - origin.get("target_tokens", 0.0)
            case "epochs":
                return state.position / self.positions_per_epoch - origin.get("epochs", 0.0)
            case "minutes":
                return (state.seconds - origin.get("seconds", 0.0)) / 60
            case _:
                assert_never(unit)

    def share(self, length: Duration, state: TrainState) -> float:
        """Share of a length that is over, at least 0; 1 or more when it is reached."""
        return self.done(length.unit, state) / length.count

    def due(self, every: Duration, before: TrainState, now: TrainState) -> bool:
        """Whether a multiple of `every` was passed between two states."""
        return math.floor(self.share(every, now)) > math.floor(self.share(every, before))

    def in_steps(self, duration: Duration, state: TrainState) -> float:
        """A duration in steps: exact where it is written in steps, otherwise by the run's own pace so far, and
        infinite while there is none."""
        if duration.unit == "steps":
            return duration.count
        done = self.done(duration.unit, state)
        return duration.count * self.done("steps", state) / done if done > 0 else math.inf


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a run is over, from its state alone."""

    length: Duration
    patience: int | None
    """Evaluations in a row without a new best after which the run ends early."""
    clock: RunClock

    def reached(self, state: TrainState) -> bool:
        """Whether the length is reached, or `evaluate.patience` is at its end."""
        return self.ended_early(state) or self.clock.share(self.length, state) >= 1

    def ended_early(self, state: TrainState) -> bool:
        """Whether `evaluate.patience` is at its end before the length is reached."""
        stale = self.patience is not None and state.best.get("since", 0) >= self.patience
        return stale and self.clock.share(self.length, state) < 1

    def reason(self, state: TrainState) -> str:
        """Why a finished run is over."""
        if not self.ended_early(state):
            return f"its length of {self.length} is reached"
        since, several = state.best["since"], state.best.get("stop_on", {})
        counts = ", ".join(f"{name} {each['since']}" for name, each in several.items())
        of = f" (of each metric: {counts})" if several else ""
        return f"evaluate.patience is at its end: the last {since} evaluations were no better{of}; raise it to continue"
