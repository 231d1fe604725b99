"""Children that do a piece of a test's work, without a fork of the process that runs the test.

A process that has run torch may have threads of OpenMP. A fork of it has none of them, and waits for them for ever at
its first large operation. So children are forked from a server, which imports what they need and never computes: they
start as fast as a fork of the test would. They have a copy of what the work refers to (by cloudpickle), the
environment, the working directory, stdin, stdout and stderr of the test, and the descriptors that it hands over, but
none of its monkeypatches.
"""

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from pathlib import Path

import cloudpickle

from tests.one_thread import ONE_THREAD

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


def start_child(work: Callable[..., None], *descriptors: int) -> Child:
    """A child that does the work, which is called with the descriptors as the child knows them."""
    sys.stdout.flush()
    sys.stderr.flush()
    task = _Task(cloudpickle.dumps(work), dict(os.environ), os.getcwd())
    status, alive = server().connect_to_new_process([*STANDARD, *descriptors])
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


@cache
def server() -> forkserver.ForkServer:
    """The server of this process: not the one of data workers, which has its own signals and imports less."""
    made = forkserver.ForkServer()
    made.set_forkserver_preload(["tests.preloaded"])
    with _environment(ONE_THREAD | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}):
        made.ensure_running()
    return made


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
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return code


def _end_with(parent: int) -> None:
    os.read(parent, 1)
    os.kill(os.getpid(), signal.SIGKILL)
