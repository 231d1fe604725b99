"""Runs a piece of work in a forked process and kills that with SIGKILL, at a chosen call or a chosen moment."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable

CALLS = ("open", "mkdir", "fsync", "rename", "replace", "unlink", "rmdir")
"""Calls of the operating system that change what a later process finds; a crash point lies before each."""

FAILED = 70


def run_in_child(work: Callable[[], None]) -> int:
    """Exit code of the child; negative where a signal ended it."""
    return wait(start_child(work))


def start_child(work: Callable[[], None]) -> int:
    """The pid of a child that does the work and ends."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def dies_before_call(number: int, work: Callable[[], None]) -> bool:
    """Whether the work was killed before its call `number` (from 0); False where it made fewer and ended well."""

    def doomed() -> None:
        _kill_before(number)
        work()

    code = run_in_child(doomed)
    assert code in (0, -signal.SIGKILL), f"the child failed by itself: {code}"
    return code != 0


def kill_after(pid: int, seconds: float) -> int:
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return wait(pid)


def _kill_before(number: int) -> None:
    left = number

    def counted(call):
        def wrapper(*args, **kwargs):
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*args, **kwargs)

        return wrapper

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
