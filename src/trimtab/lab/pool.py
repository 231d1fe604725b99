"""Makes runs in several processes that share a device, and keeps their records, so that none is made twice."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from trimtab.errors import RunFailed
from trimtab.lab.runs import Run

Record = dict[str, Any]
Told = Callable[[Run, Record], None]
LASTING = ("finished", "failed")
"""Ends of a run that another try would not change."""
GRACE_S = 5.0
"""After its budget a run may go on for so long, in seconds, since one that is nearly done should not be lost."""
WORKER = (sys.executable, "-m", "trimtab.lab.worker")


@dataclass(slots=True)
class Budget:
    """How long runs may take together. A run is begun only if it is likely to end in time; one that takes longer all
    the same is stopped."""

    seconds: float | None
    begun: float = field(default_factory=time.monotonic)
    lasted: dict[str, float] = field(default_factory=dict[str, float])
    """The longest run of each arm so far."""

    def fits(self, run: Run) -> bool:
        """Whether a run would end in time, if it lasts as long as others of its arm did, or as most runs did."""
        if self.seconds is None:
            return True
        usual = median(self.lasted.values()) if self.lasted else 0.0
        return time.monotonic() - self.begun + self.lasted.get(run.arm, usual) < self.seconds

    def took(self, run: Run, seconds: float) -> None:
        """Takes note of a run that has ended."""
        self.lasted[run.arm] = max(seconds, self.lasted.get(run.arm, 0.0))

    @property
    def rest(self) -> float | None:
        """Seconds until what runs is stopped; None for never."""
        if self.seconds is None:
            return None
        return max(0.0, self.begun + self.seconds + GRACE_S - time.monotonic())


@dataclass(frozen=True, slots=True)
class Cache:
    """The records of runs, a file each, by what was run where."""

    folder: Path
    place: str
    """The machine and the versions: a run elsewhere is another run."""
    commit: str | None = None
    """The commit that makes new runs."""

    def path(self, run: Run) -> Path:
        """Where the record of a run is."""
        return self.folder / f"{run.key}-{self.place}.json"

    def get(self, run: Run) -> Record | None:
        """The record of a run that has ended, if there is one."""
        try:
            return json.loads(self.path(run).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, run: Run, record: Record) -> Record:
        """Keeps it, whole or not at all; with the commit, unless it has one."""
        record = {"commit": self.commit, **record}
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.path(run).with_suffix(".part")
        part.write_text(json.dumps(record) + "\n", encoding="utf-8")
        part.replace(self.path(run))
        return record


def make_all(
    runs: Sequence[Run], *, cache: Cache, parallel: int, device: str | None, budget: Budget, told: Told
) -> dict[str, Record]:
    """The records of all runs by key, of those that the budget allows; those that are kept already are not made again.

    Whatever runs when the budget ends, or hangs, is stopped and has no record. Raises RunFailed after all of them where
    runs were refused or their process died: the others are kept.
    """
    records = {run.key: found for run in runs if (found := cache.get(run)) is not None}
    first: dict[str, Run] = {}
    for run in runs:
        if run.key not in records:
            first.setdefault(run.key, run)  # of runs that are the same, the first one names it
    left = list(first.values())
    idle = [_Worker(cache.folder, device, number) for number in range(min(parallel, len(left)))]
    workers, busy, amiss = list(idle), dict[Future[Record], tuple[Run, _Worker]](), list[str]()
    pool = ThreadPoolExecutor(max(1, len(workers)))
    try:
        while busy or left:
            while idle and (run := _first_that_fits(left, budget)) is not None:
                worker = idle.pop()
                busy[pool.submit(worker.make, run)] = run, worker
            if not busy:
                break
            done, _ = wait(busy, timeout=budget.rest, return_when=FIRST_COMPLETED)
            if not done:
                for run, worker in busy.values():
                    told(run, worker.overtime())
                break
            for future in done:
                (run, worker), record = busy.pop(future), future.result()
                if record["ended"] in LASTING:
                    records[run.key] = cache.put(run, record)
                    budget.took(run, record["seconds"])
                else:
                    amiss.append(f"arm {run.arm!r}, seed {run.seed}: {record['error']}")
                told(run, record)
                idle.append(worker)
    finally:
        for worker in workers:
            worker.end()
        pool.shutdown(cancel_futures=True)
    if amiss:
        raise RunFailed(f"{len(amiss)} runs did not complete; the first one: {amiss[0]}")
    return records


def _first_that_fits(left: list[Run], budget: Budget) -> Run | None:
    """Takes the first run out of those that are left which would end in time."""
    number = next((number for number, run in enumerate(left) if budget.fits(run)), None)
    return None if number is None else left.pop(number)


class _Worker:
    """A process of `trimtab.lab.worker`, and another one where it dies."""

    def __init__(self, folder: Path, device: str | None, number: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.device = folder / f"worker-{os.getpid()}-{number}", device
        self.log_path = folder / f"worker-{number}.log"
        self.log = self.log_path.open("w", encoding="utf-8")
        self.ended, self.begun, self.lock = False, time.monotonic(), threading.Lock()
        self.process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            encoding="utf-8",
            env=_environment(self.device),
            start_new_session=True,  # so that its data workers, which hold its pipes open, can be ended with it
        )

    def make(self, run: Run) -> Record:
        """Sends a run and waits for its record."""
        job = {
            "key": run.key,
            "recipe": str(run.recipe.absolute()),
            "overrides": run.overrides,
            "folder": str(self.folder.absolute()),
            "tokenizers": str(self.folder.parent.absolute() / "tokenizers"),
        }
        self.begun = time.monotonic()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):  # nothing, or half a line
            with self.lock:
                _kill(self.process)
                error = f"its process exited with code {self.process.wait()}; see {self.log_path}"
                if not self.ended:
                    self.process = self._started()
            return self._stopped(error)

    def overtime(self) -> Record:
        """The record of a run that the budget has no more time for."""
        return self._stopped("the budget ran out before it finished; the next call repeats it")

    def _stopped(self, error: str) -> Record:
        return {"ended": "stopped", "error": error, "seconds": round(time.monotonic() - self.begun, 1)}

    def end(self) -> None:
        """Ends the process, whatever it does."""
        with self.lock:
            self.ended = True
            _kill(self.process)
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _kill(process: subprocess.Popen[str]) -> None:
    """With what it has started, where the system has groups of processes."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):  # it has ended, and all of its group
        os.killpg(process.pid, signal.SIGKILL)


def _environment(device: str | None) -> dict[str, str]:
    """One thread for each process, unless the user says otherwise, and the device that was asked for."""
    chosen = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    if device is not None:
        kind, _, number = device.partition(":")
        # Numbers count those GPUs that this process sees, as they do for torch.
        seen = [each for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
        place = int(number or 0)
        chosen["CUDA_VISIBLE_DEVICES"] = (
            "" if kind == "cpu" else seen[place] if place < len(seen) else str(place)
        )
    return {**os.environ, **chosen}
