"""How long a run trains, and how long it waits for data and for the device; what lies between is not training."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class Lap:
    """The time of some steps together, in seconds."""

    whole: float
    """Since the lap before."""
    waited: float
    """Of it without a batch."""
    device: float
    """Of it waiting for the device at its end."""
    untold: float
    """Since the last time that was asked for, by `split` or a lap."""


@dataclass(slots=True)
class Stopwatch:
    """The only one who reads the clock of a run."""

    mark: float = field(init=False)
    """When a time was last asked for."""
    lap_began: float = field(init=False)
    waited: float = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Time from here on is training; what lay before (an evaluation, a save) is not."""
        self.mark = self.lap_began = time.perf_counter()
        self.waited = 0.0

    def timed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches; the time that the loop waits for each is added up."""
        batches = iter(batches)
        while True:
            asked = time.perf_counter()
            batch = next(batches, None)
            if batch is None:
                return
            self.waited += time.perf_counter() - asked
            yield batch

    def split(self) -> float:
        """Seconds since the last time that was asked for."""
        now = time.perf_counter()
        seconds, self.mark = now - self.mark, now
        return seconds

    def lap(self, *, asked: float) -> Lap:
        """Ends a lap, whose last wait for the device began when the clock said `asked`."""
        now = time.perf_counter()
        lap = Lap(now - self.lap_began, self.waited, now - asked, now - self.mark)
        self.mark = self.lap_began = now
        self.waited = 0.0
        return lap

    @property
    def now(self) -> float:
        """What the clock says."""
        return time.perf_counter()
