"""The fork that tests make: what a user's own fork does to locks, open files and a save under
way; and ranks that share the torch that one process has loaded.

`tests/test_bans.py` finds any other.
"""

import os
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

FAILED = 71
needs_threads_counted = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="counts threads by /proc"
)


def forked(work: Callable[[], None]) -> int:
    """The pid of a fork of this process that does the work and ends; only for a child of `tests/children.py`.

    Refused where a library has threads, which a fork would wait for.
    """
    foreign = len(os.listdir("/proc/self/task")) - threading.active_count()
    assert not foreign, f"{foreign} threads that Python knows nothing of: a fork of this process may hang"
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


def ended(pid: int) -> int:
    """Exit code of a fork; negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
