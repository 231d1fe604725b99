"""Children that do a piece of a test's work, without a fork of the process that runs the test.

A process that has run torch may have threads of OpenMP. A fork of it has none of them, and waits for them for ever at
its first large operation. So children are forked from a server, which imports what they need and never computes: they
start as fast as a fork of the test would. They have a copy of what the work refers to (by cloudpickle), the
environment, the working directory, stdin, stdout and stderr of the test, and the descriptors that it hands over, but
none of its monkeypatches. All processes of pytest-xdist have one server: its imports take 10 s.
"""

import atexit
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import BinaryIO

import cloudpickle

from tests.checked_calls import own_code
from tests.one_thread import ONE_THREAD
from tests.shared_folder import locked

ROOT = Path(__file__).parent.parent
FAILED = 70
STANDARD = (0, 1, 2)


@dataclass(frozen=True)
class Child:
    """A process that does some work and ends, at the latest with the one that started it."""

    pid: int
    status: int
    """A pipe through which the server reports the exit code."""
    alive: int
    """A pipe that is closed when this process ends, however it does."""


def run_in_child(work: Callable[..., None], *descriptors: int) -> int:
    """Exit code of a child that does the work; negative where a signal ended it."""
    return wait(start_child(work, *descriptors))


class Command:
    """A command of trimtab in a child process, with the methods of `subprocess.Popen` that tests use.

    The child has imported everything before the command begins, which saves most of the time of a short command. Use
    `subprocess` for a command that a test interrupts during its imports, or that needs a fresh interpreter.
    """

    def __init__(
        self, *arguments: object, first: Callable[[], None] | None = None, stderr: BinaryIO | None = None
    ) -> None:
        """`first` is called in the child before the command; `stderr` in place of a file that is read at the end."""
        command = ["trimtab", *map(str, arguments)]

        def work() -> None:
            from trimtab.cli.main import main

            sys.argv = command
            if first is not None:
                first()
            main()

        self._said = [tempfile.TemporaryFile(), stderr or tempfile.TemporaryFile()]  # noqa: SIM115
        self._child = start_child(work, standard=(0, *(file.fileno() for file in self._said)))
        self.pid = self._child.pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code as soon as it has ended, negative where a signal ended it."""
        return self._ended(0.0)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it has written to stdout and stderr, once it has ended."""
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired("trimtab", timeout or 0.0)
        written = [_read(file) for file in self._said]
        return written[0], written[1]

    def send_signal(self, number: int) -> None:
        """Does nothing if the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends the command if it still runs, and waits for it."""
        self.send_signal(signal.SIGKILL)
        self._ended(None)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._child.status], [], [], timeout)[0]:
            self.returncode = wait(self._child)
        return self.returncode


def printed(work: Callable[[], None]) -> str:
    """What a child prints while it does the work; calls are not type-checked there."""
    with tempfile.TemporaryFile() as file:
        child = start_child(work, standard=(0, file.fileno(), 2))
        assert wait(child) == 0
        return _read(file)


def _read(file: BinaryIO) -> str:
    if not file.readable():
        return ""
    file.seek(0)
    return file.read().decode(errors="replace")


def start_child(
    work: Callable[..., None], *descriptors: int, standard: tuple[int, int, int] = STANDARD
) -> Child:
    """A child that does the work, which is called with the descriptors as the child knows them.

    `standard` are the files that become its stdin, stdout and stderr.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with own_code():
        task = _Task(cloudpickle.dumps(work), dict(os.environ), os.getcwd())
    status, alive = server().connect_to_new_process([*standard, *descriptors])
    with open(alive, "wb", closefd=False) as pipe:
        pipe.write(pickle.dumps({}))  # no preparation: the script of the test runs nowhere else
        pipe.write(pickle.dumps(task))
    return Child(forkserver.read_signed(status), status, alive)


def wait(child: Child) -> int:
    """The exit code, as of `run_in_child`; once for each child."""
    code = forkserver.read_signed(child.status)
    os.close(child.status)
    os.close(child.alive)
    return code


_shared: list[Path] = []


def share_server(folder: Path) -> None:
    """From now on the server is that which another process has noted in this folder, if it is there."""
    _shared[:] = [folder]


@cache
def server() -> forkserver.ForkServer:
    """The server of this process: not the one of data workers, which has its own signals and imports less."""
    if not _shared:
        return _started()
    note = _shared[0] / "fork-server.json"
    with locked(note.with_suffix(".lock")):
        with suppress(OSError, ValueError, KeyError):  # none yet, or one that has ended
            return _Adopted(note)
        made = _started()
        fields = {key: getattr(made, f"_forkserver_{key}") for key in ("address", "alive_fd", "pid")}
        fields["authkey"] = getattr(made, "_forkserver_authkey", b"").hex()
        note.write_text(json.dumps({**fields, "owner": os.getpid()}))
        return made


def _started() -> forkserver.ForkServer:
    made = forkserver.ForkServer()
    made.set_forkserver_preload(["tests.preloaded"])
    with _environment(ONE_THREAD | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}):
        made.ensure_running()
    return made


class _Adopted(forkserver.ForkServer):
    """A server that another process has started; it lives as long as one of them does."""

    def __init__(self, note: Path) -> None:
        super().__init__()
        fields = json.loads(note.read_text())
        # The owner removes the name of its socket when it ends.
        link = note.with_name(f"fork-server-{os.getpid()}")
        os.link(fields["address"], link)
        self._forkserver_address = str(link)
        self._forkserver_alive_fd = os.open(f"/proc/{fields['owner']}/fd/{fields['alive_fd']}", os.O_WRONLY)
        self._forkserver_pid = fields["pid"]
        self._forkserver_authkey = bytes.fromhex(fields["authkey"])  # Python 3.14 has one

    def ensure_running(self) -> None:
        resource_tracker.ensure_running()


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@dataclass(frozen=True)
class _Task:
    """What a child is given; multiprocessing calls `_bootstrap` there."""

    work: bytes
    environment: dict[str, str]
    folder: str

    def _bootstrap(self, parent: int) -> int:
        """The exit code. `parent` is a pipe that ends with the process of the test."""
        code = FAILED
        try:
            threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
            given = forkserver.get_inherited_fds()
            for number in STANDARD:
                os.dup2(given[number], number)
                os.close(given[number])
            os.environ.clear()
            os.environ.update(self.environment)
            os.chdir(self.folder)
            sys.modules["torch"].set_num_threads(1)
            cloudpickle.loads(self.work)(*given[len(STANDARD) :])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            threading._shutdown()  # as an interpreter that ends: first its threads, then what was registered
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        return code


def _end_with(parent: int) -> None:
    os.read(parent, 1)
    os.kill(os.getpid(), signal.SIGKILL)
