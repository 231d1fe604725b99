"""Keeps trackers from the run: each has a thread and a bounded queue, and whatever it does, training goes on."""

import json
import math
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, assert_never

from trimtab.config.trackers import TrackerName
from trimtab.errors import one_line
from trimtab.finding import Finding
from trimtab.run_findings.trackers import TRACKER_BEHIND, TRACKER_FAILED
from trimtab.trackers.tracker import Record, TrackedRun, Tracker

MOST_WAITING = 20_000
"""Records that a tracker may be behind; later ones are dropped until it has caught up."""
MOST_AT_ONCE = 500
SECONDS_BETWEEN_CALLS = 1.0
CLOSING_S = 20.0
"""What the end of a run waits for all trackers together."""
IDS = "trackers.json"
"""File of the run folder with the id that each tracker knows the run by."""


@dataclass(frozen=True, slots=True)
class _Begin:
    step: int


class _End:
    """No more records come."""


@dataclass(slots=True)
class _Feed:
    """One tracker behind its queue."""

    name: TrackerName
    open: Callable[[], Tracker]
    opened: Callable[[TrackerName, str], None]
    waiting: "queue.Queue[Record | _Begin | _End]" = field(default_factory=lambda: queue.Queue(MOST_WAITING))
    thread: threading.Thread | None = None
    error: str = ""
    """Why the tracker was given up."""
    dropped: int = 0
    told: set[str] = field(default_factory=set[str])
    """Codes of the findings that were reported."""

    def put(self, item: Record | _Begin | _End) -> None:
        """Hands something on; never waits."""
        if self.error:
            return
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, daemon=True, name=f"tracker {self.name}")
            self.thread.start()
        try:
            self.waiting.put_nowait(item)
        except queue.Full:
            self.dropped += 1

    def _run(self) -> None:
        try:
            tracker = self.open()
            self.opened(self.name, tracker.run_id)
            while self._pass_on(tracker):
                pass
            tracker.close()
        except BaseException as error:  # of any kind, `SystemExit` too: it is not this run's
            self.error = one_line(f"{type(error).__name__}: {error}")[:300]

    def _pass_on(self, tracker: Tracker) -> bool:
        """Hands over what has come within a second; whether more may come."""
        records: list[Record] = []
        until = time.monotonic() + SECONDS_BETWEEN_CALLS
        item: Record | _Begin | _End | None = None
        while len(records) < MOST_AT_ONCE:
            try:
                item = self.waiting.get(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                item = None
            if not isinstance(item, Record):
                break
            records.append(item)
        if records:
            tracker.log(records)
        if isinstance(item, _Begin):
            tracker.begin_at(item.step)
        return not isinstance(item, _End)


class Trackers:
    """All trackers of a run. Each method returns at once, but for `close`, which waits a bounded time."""

    def __init__(
        self,
        names: Sequence[TrackerName],
        run: TrackedRun,
        *,
        tell: Callable[[Finding], None],
        open_one: Callable[[TrackerName, TrackedRun], Tracker] | None = None,
        closing_s: float | None = None,
    ) -> None:
        self._tell, self._folder = tell, run.folder
        self._closing_s = CLOSING_S if closing_s is None else closing_s
        self._writing = threading.Lock()
        self._ids = known_ids(run.folder) if names else {}
        self._feeds = [
            _Feed(name, _opening(open_one or open_tracker, name, self._about(run, name)), self._opened)
            for name in names
        ]

    def begin_at(self, step: int) -> None:
        """The run begins, or goes on after this step."""
        for feed in self._feeds:
            feed.put(_Begin(step))

    def log(self, kind: str, step: int, numbers: Mapping[str, Any]) -> None:
        """The numbers of a line of a log, under names such as `train/loss`."""
        if not self._feeds:
            return
        values = {
            f"{kind}/{name}": float(value)
            for name, value in numbers.items()
            if name != "step" and isinstance(value, int | float)
        }
        record = Record(step, time.time(), values)
        for feed in self._feeds:
            feed.put(record)
        self._report()

    def close(self) -> None:
        """Gives the trackers a bounded time to bring everything home."""
        until = time.monotonic() + self._closing_s
        for feed in self._feeds:
            if feed.thread is not None:
                with suppress(queue.Full):
                    feed.waiting.put(_End(), timeout=0 if feed.error else max(0.0, until - time.monotonic()))
        for feed in self._feeds:
            if feed.thread is not None:
                feed.thread.join(max(0.0, until - time.monotonic()))
                if feed.thread.is_alive() and not feed.error:
                    feed.error = f"it had not taken everything {self._closing_s:g} s after the run was over"
                    feed.told.discard(TRACKER_FAILED.code)
        self._report()

    def _report(self) -> None:
        for feed in self._feeds:
            if feed.error and TRACKER_FAILED.code not in feed.told:
                feed.told.add(TRACKER_FAILED.code)
                self._tell(TRACKER_FAILED.found(f"{feed.name}: {feed.error}"))
            if feed.dropped and TRACKER_BEHIND.code not in feed.told:
                feed.told.add(TRACKER_BEHIND.code)
                self._tell(
                    TRACKER_BEHIND.found(
                        f"{feed.name} is {MOST_WAITING:,} records behind; records are dropped"
                    )
                )

    def _about(self, run: TrackedRun, name: TrackerName) -> TrackedRun:
        return replace(run, known_id=self._ids.get(name, ""), free_id=secrets.token_hex(4))

    def _opened(self, name: TrackerName, run_id: str) -> None:
        with self._writing:
            self._ids[name] = run_id
            draft = self._folder / f".{IDS}"
            draft.write_text(json.dumps(self._ids, indent=1) + "\n", encoding="utf-8")
            draft.replace(self._folder / IDS)


def known_ids(folder: Path) -> dict[str, str]:
    """The ids by which the trackers know a run; none where it has none, or the file cannot be read."""
    try:
        found = json.loads((folder / IDS).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return (
        {name: each for name, each in found.items() if isinstance(each, str)}
        if isinstance(found, dict)
        else {}
    )


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str | int | float | bool]:
    """A recipe by dotted keys; lists are texts, and what is null is left out."""
    found: dict[str, str | int | float | bool] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, float) and not math.isfinite(value):
            found[prefix + name] = str(value)
        elif isinstance(value, str | int | float):
            found[prefix + name] = value
        elif value is not None:
            found[prefix + name] = json.dumps(value, ensure_ascii=False, default=str)
    return found


def open_tracker(name: TrackerName, run: TrackedRun) -> Tracker:
    """Opens a run in a tracker; raises whatever its package raises."""
    match name:
        case "tensorboard":
            from trimtab.trackers.tensorboard import TensorBoard

            return TensorBoard(run)
        case "wandb":
            from trimtab.trackers.wandb import WeightsAndBiases

            return WeightsAndBiases(run)
        case "mlflow":
            from trimtab.trackers.mlflow import MLflow

            return MLflow(run)
        case "trackio":
            from trimtab.trackers.trackio import Trackio

            return Trackio(run)
        case _:
            assert_never(name)


def _opening(
    open_one: Callable[[TrackerName, TrackedRun], Tracker], name: TrackerName, run: TrackedRun
) -> Callable[[], Tracker]:
    return lambda: open_one(name, run)
