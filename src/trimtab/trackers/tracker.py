"""What a tracker is given, and what it has to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

PROJECT = "trimtab"
"""Project or experiment that runs are put into where the tracker's own environment variable names none."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """The run as trackers know it."""

    folder: Path
    settings: Mapping[str, str | int | float | bool]
    """The resolved recipe by dotted keys."""
    known_id: str = ""
    """What the tracker called the run when it began; empty for one that begins now."""
    free_id: str = ""
    """A name that no other run has, for trackers that let us choose."""

    @property
    def name(self) -> str:
        """What people call it: its folder."""
        return self.folder.resolve().name


@dataclass(frozen=True, slots=True)
class Record:
    """Numbers of one step."""

    step: int
    seconds: float
    """When, since 1970."""
    values: Mapping[str, float]
    """By names such as `train/loss` and `dev/chrf`."""


@runtime_checkable
class Tracker(Protocol):
    """An open run in a tracker; all calls come from one thread, and may raise whatever they like."""

    run_id: str
    """By which the tracker finds the run again."""

    def begin_at(self, step: int) -> None:
        """What was logged of later steps is void: the run goes on from here."""
        ...

    def log(self, records: Sequence[Record]) -> None:
        """Takes numbers of steps, in their order."""
        ...

    def close(self) -> None:
        """Everything is to be where it belongs when this returns."""
        ...
