"""Runs commands as a terminal does, in a group of processes of their own, and sends a signal to the whole group."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.killing import LONGEST_WAIT

COMMAND = "from trimtab.cli.main import main; main()"
PROC = Path("/proc")
When = Callable[["Group"], bool]
"""Whether a moment has come."""


@dataclass(frozen=True)
class Group:
    """A command that runs; its session has the number of its process."""

    process: "subprocess.Popen[bytes]"
    said: Path
    """What it writes to stderr."""

    def members(self) -> list[int]:
        """Processes of the session that are not over."""
        found = []
        for stat in PROC.glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # gone meanwhile
                continue
            if int(fields[3]) == self.process.pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    def read(self, file: str, pid: int | None = None) -> str:
        """A file of /proc; empty for a process that is gone."""
        try:
            return (PROC / str(pid or self.process.pid) / file).read_text(errors="replace")
        except OSError:
            return ""


@dataclass(frozen=True)
class End:
    """How it ended."""

    code: int
    said: str
    left: list[str]
    """Command lines of processes that outlived it."""
    was_over: bool
    """Whether the signal came when its work was done and Python was clearing up, so that it changes nothing."""


def begun(group: Group) -> bool:
    """The command takes signals: Python is up, and `main` runs. SIGHUP is the last that it takes."""
    caught = [line.split()[1] for line in group.read("status").splitlines() if line.startswith("SigCgt")]
    return bool(caught) and bool(int(caught[0], 16) >> (signal.SIGHUP - 1) & 1)


def loads_torch(group: Group) -> bool:
    """In the middle of imports, with much before it."""
    return "libtorch" in group.read("maps")


def starts_workers(group: Group) -> bool:
    """Their server is a process now, and has yet to import what they need."""
    return any("forkserver import main" in group.read("cmdline", pid) for pid in group.members())


def has_workers(group: Group) -> bool:
    """One of them at least, and the server that forked it."""
    servers = [pid for pid in group.members() if "forkserver import main" in group.read("cmdline", pid)]
    return len(servers) > 1


def says(text: str) -> When:
    """It has told this on stderr."""
    return lambda group: text in group.said.read_text(errors="replace")


def after(seconds: float, then: When = begun) -> When:
    """So long after another moment."""
    came: list[float] = []

    def when(group: Group) -> bool:
        if not came and then(group):
            came.append(time.monotonic())
        return bool(came) and time.monotonic() - came[0] >= seconds

    return when


def interrupted(
    arguments: Sequence[object], when: When, *, folder: Path, number: int = signal.SIGINT, text: str = ""
) -> End | None:
    """How a command ends after a signal at a moment; None if it is over before. `text` is its endless stdin."""
    group = _start(arguments, folder)
    try:
        if text:
            _feed(group, text)
        until = time.monotonic() + LONGEST_WAIT
        while not when(group):
            if group.process.poll() is not None:
                return None
            assert time.monotonic() < until, f"the moment never came: {group.said.read_text()}"
            time.sleep(0.002)
        was_over = _ignores(group, number)
        os.killpg(group.process.pid, number)
        code = group.process.wait(LONGEST_WAIT)
        return End(code, group.said.read_text(errors="replace"), _left(group), was_over and code == 0)
    finally:
        for pid in group.members():
            os.kill(pid, signal.SIGKILL)
        group.process.kill()
        group.process.wait()
        if group.process.stdin is not None:
            group.process.stdin.close()


def _ignores(group: Group, number: int) -> bool:
    """Whether it has come to its last lines, in which signals are ignored, or has ended."""
    status = group.read("status")
    ignored = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")]
    return not ignored or "State:\tZ" in status or bool(int(ignored[0], 16) >> (number - 1) & 1)


def _start(arguments: Sequence[object], folder: Path) -> Group:
    said = folder / "said"
    with said.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    return Group(process, said)


def _feed(group: Group, text: str) -> None:
    """As much as a pipe holds; it stays open, as one into which somebody types."""
    assert group.process.stdin is not None
    group.process.stdin.write(text.encode())
    group.process.stdin.flush()


def _left(group: Group) -> list[str]:
    """Workers see within moments that the process they work for is gone; a server that still imports sees it then."""
    until = time.monotonic() + LONGEST_WAIT
    while (left := group.members()) and time.monotonic() < until:
        time.sleep(0.01)
    return [group.read("cmdline", pid).replace("\0", " ") for pid in left]
