"""Finds out which rank is gone or hangs, from a thread of its own: the main one may be waiting for that very rank."""

import faulthandler
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, runtime_checkable

from trimtab.errors import RankLost

EXIT_CODE = RankLost.exit_code
PERIOD_SECONDS = 1.0
"""Between two looks."""
LOOK_FOR_SECONDS = 6.0
"""So long is looked for the rank to blame where a connection broke: another may only have left because of it."""
BROKEN_CONNECTION = re.compile(
    r"gloo|nccl|connection (closed|reset|refused)|broken pipe|by peer", re.IGNORECASE
)
"""In the errors of collective operations."""
STACKS = "ended"
"""What is set here makes every rank print its stacks and end."""


@runtime_checkable
class Store(Protocol):
    """What the watch asks of the store of `torch.distributed`."""

    def set(self, key: str, value: str) -> None:
        """Puts a value where every rank can read it."""
        ...

    def get(self, key: str) -> bytes:
        """The value, waited for."""
        ...

    def check(self, keys: list[str]) -> bool:
        """Whether all of these are there."""
        ...


class Watch:
    """Counts the calls that ranks make together. A rank whose process is gone, or which has not come to a call for
    `timeout_seconds` while others wait in it, ends the job: every rank prints its stacks and exits with 99."""

    def __init__(
        self,
        store: Store,
        *,
        rank: int,
        world_size: int,
        timeout_seconds: float,
        end: Callable[[str], None] | None = None,
    ) -> None:
        self.store, self.rank, self.world_size = store, rank, world_size
        self.timeout_seconds = timeout_seconds
        self.end = end or self._end
        self.calls = 0
        """Calls that this rank has made or is in."""
        self.since = time.monotonic()
        """When it made the newest."""
        self.patient = False
        """Whether it waits for work that may take any time."""
        self.over = threading.Event()
        self.places: dict[int, tuple[str, int]] = {}
        """Host and process of every rank."""
        self.thread = threading.Thread(target=self._run, daemon=True, name="rank watch")

    def begin(self) -> None:
        """Tells the others where this rank is, hears where they are, and begins to look."""
        self.store.set(f"place/{self.rank}", json.dumps([socket.gethostname(), os.getpid()]))
        for rank in range(self.world_size):
            host, process = json.loads(self.store.get(f"place/{rank}"))
            self.places[rank] = str(host), int(process)
        self.thread.start()

    def close(self) -> None:
        """Ends the looking; processes may end from here on."""
        self.over.set()

    @contextmanager
    def collective(self, *, patient: bool = False) -> Generator[None]:
        """A call that all ranks make together. RankLost where it breaks off since one of them is gone."""
        self.calls += 1
        self.since, self.patient = time.monotonic(), patient
        try:
            yield
        except RuntimeError as error:
            raise RankLost(self.explained(error)) from None
        finally:
            self.since, self.patient = time.monotonic(), False

    def failed(self, text: str, *, code: int) -> None:
        """Tells the others why this rank ends."""
        with suppress(Exception):  # the store may be gone with its host
            self.store.set(f"failed/{self.rank}", json.dumps([code, text]))

    def failure_of(self, rank: int, *, wait_seconds: float = 0.0) -> tuple[int, str] | None:
        """Exit code and message of a rank that has failed; None if it has not said so by then."""
        until = time.monotonic() + wait_seconds
        while True:
            with suppress(Exception):
                if self.store.check([f"failed/{rank}"]):
                    code, text = json.loads(self.store.get(f"failed/{rank}"))
                    return int(code), str(text)
            if time.monotonic() >= until:
                return None
            time.sleep(0.1)

    def explained(self, error: BaseException) -> str:
        """Which rank is to blame for a connection that broke: one that died, or that has failed."""
        until = time.monotonic() + LOOK_FOR_SECONDS
        while time.monotonic() < until:
            if dead := self.dead():
                return self.gone(dead)
            for rank in range(self.world_size):
                if rank != self.rank and (failure := self.failure_of(rank)) and failure[0] != EXIT_CODE:
                    return stopped(rank, self.places[rank][0], failure[1])
            time.sleep(0.2)
        return lost("a rank", f"the connection to it broke: {first_line(error)}")

    def lost_rank_behind(self, error: RuntimeError) -> RankLost | None:
        """The lost rank that explains an error of this one; None if the error is this rank's own.

        A broken connection always has another rank behind it, whose process may be gone only a moment later.
        """
        if BROKEN_CONNECTION.search(str(error)):
            return RankLost(self.explained(error))
        dead = self.dead()
        return RankLost(self.gone(dead)) if dead else None

    def dead(self) -> list[int]:
        """The ranks of this host whose processes are gone."""
        mine = self.places.get(self.rank, ("", 0))[0]
        return [
            rank
            for rank, (host, process) in self.places.items()
            if rank != self.rank and host == mine and not is_running(process) and not self.failure_of(rank)
        ]

    def gone(self, ranks: list[int]) -> str:
        """The message about ranks that died."""
        named = ", ".join(f"rank {rank} (process {self.places[rank][1]})" for rank in ranks)
        return lost(named, f"died on {self.places[ranks[0]][0]}")

    def behind(self) -> str:
        """The message about the ranks that have not come to a call in which this one has waited too long; empty where
        there is none."""
        waited = time.monotonic() - self.since
        if self.patient or waited <= self.timeout_seconds:
            return ""
        calls = {rank: self._calls_of(rank) for rank in range(self.world_size) if rank != self.rank}
        late = [rank for rank, count in calls.items() if count < self.calls]
        if not late:
            return ""
        named = ", ".join(
            f"rank {rank} (process {self.places[rank][1]}, {self.places[rank][0]})" for rank in late
        )
        return lost(
            named, f"hangs: it has not reached a call in which rank {self.rank} has waited for {waited:.0f} s"
        )

    def look(self) -> None:
        """One look: tells how far this rank is, and ends the job where another is gone or hangs."""
        self.store.set(f"calls/{self.rank}", str(self.calls))
        if self.store.check([STACKS]):
            self.end(self.store.get(STACKS).decode())
            return
        found = self.behind()
        if not found and (dead := self.dead()):
            found = self.gone(dead)
        if found and not self.over.is_set():
            self.store.set(STACKS, found)
            self.end(found)

    def _calls_of(self, rank: int) -> int:
        key = f"calls/{rank}"
        return int(self.store.get(key)) if self.store.check([key]) else 0

    def _run(self) -> None:
        while not self.over.wait(PERIOD_SECONDS):
            try:
                self.look()
            except Exception:  # of any kind: without the store, broken connections still end the run
                if not self.over.is_set():
                    time.sleep(PERIOD_SECONDS)

    def _end(self, text: str) -> None:
        if self.over.is_set():
            return
        self.failed(text, code=EXIT_CODE)
        with suppress(Exception):
            told = f"\nrank {self.rank}: error: {text}\nrank {self.rank}: stacks of its threads:\n"
            sys.stderr.write(told)
            sys.stderr.flush()
            faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
            sys.stderr.flush()
        os._exit(EXIT_CODE)


def lost(who: str, how: str) -> str:
    """The message about a rank that is gone."""
    return (
        f"{who} {how}\n"
        "  why     all ranks take each step together, so the run ends; its last checkpoint is intact\n"
        "  fix     start it again with --resume; `torchrun --max-restarts N` does so automatically"
    )


def stopped(rank: int, host: str, text: str) -> str:
    """The message about a rank that failed and said why."""
    return f"rank {rank} ({host}) has stopped: {text}"


def is_running(process: int) -> bool:
    """Whether a process of this host is there, and more than an entry in the table of processes."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return True


def first_line(error: Any) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
