"""How far a run is, in whichever unit a length was written."""

import math
from dataclasses import dataclass

from trimtab.flow import TrainState
from trimtab.units import Duration


@dataclass(frozen=True, slots=True)
class Pace:
    """Measures durations against a run's state; the one fact it needs is the size of an epoch."""

    examples_per_epoch: int

    def done(self, unit: str, state: TrainState) -> float:
        """How much of a unit the run has behind it."""
        match unit:
            case "steps":
                return float(state.step)
            case "tokens":
                return float(state.target_tokens)
            case "epochs":
                return state.position / self.examples_per_epoch
            case "minutes":
                return state.seconds / 60
            case _:
                raise AssertionError(unit)

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
        return duration.count * state.step / done if done > 0 else math.inf
