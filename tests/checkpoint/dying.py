"""Kills a child that does a piece of work with SIGKILL, at a chosen call or a chosen moment."""

import os
import signal
import time
from collections.abc import Callable

from tests.children import Child, run_in_child, wait

CALLS = ("open", "mkdir", "fsync", "rename", "replace", "unlink", "rmdir")
"""Calls of the operating system that change what a later process finds; a crash point lies before each."""


def dies_before_call(number: int, work: Callable[[], None]) -> bool:
    """Whether the work was killed before its call `number` (from 0); False where it made fewer and ended well."""

    def doomed() -> None:
        _kill_before(number)
        work()

    code = run_in_child(doomed)
    assert code in (0, -signal.SIGKILL), f"the child failed by itself: {code}"
    return code != 0


def kill_after(child: Child, seconds: float) -> int:
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    return wait(child)


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
