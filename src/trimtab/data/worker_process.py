"""Starts worker processes that read and tokenize, never by a fork, and without importing the user's script."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from trimtab.data.block_signals import block_signals, ignore_for_good
from trimtab.errors import RunFailed


def context() -> multiprocessing.context.BaseContext:
    """Never fork from here: this process may have threads and a CUDA context, which do not survive it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["trimtab.data.preloaded"])
    return found


def prepare() -> None:
    """Starts the process that workers are forked from, where there is one: it imports what they need, for seconds,
    while this one continues. Without it the first worker would do so, and wait."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    context()
    # What fails here fails in the first worker too, which reports it.
    with suppress(OSError), _quietly():
        forkserver.ensure_running()


def started(target: Callable[..., None], *arguments: Any, name: str) -> BaseProcess:
    """A process that does the work; it ends with this one, and never by a Ctrl-C or SIGTERM, which are for this one.

    Raises RunFailed if it cannot be started.
    """
    process = context().Process(
        target=_work_until_parent_ends, args=(target, *arguments), daemon=True, name=name
    )
    try:
        with _quietly():
            process.start()
    except Exception as error:
        raise RunFailed(
            f"data.workers: a worker could not be started: {error}\n"
            "  fix     set data.workers to 0; workers cannot import what the script itself defines,\n"
            "          so put it into a module"
        ) from error
    except BaseException:  # a signal that came meanwhile; nobody would ever end the process
        if process.pid is not None:
            process.kill()
            process.join()
        raise
    return process


def _work_until_parent_ends(target: Callable[..., None], *arguments: Any) -> None:
    ignore_for_good()
    threading.Thread(target=_end_with_parent, daemon=True, name="parent watch").start()
    target(*arguments)


def _end_with_parent() -> None:
    """Also where the work hangs, and would never see that its pipe is closed."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "work of a process that nobody started"
    parent.join()
    os._exit(0)


@contextmanager
def _quietly() -> Iterator[None]:
    """Processes that are started in the body never take the signals of the group, and see nothing of the script.

    From their first moment on: the process that forks workers imports torch before it begins to ignore Ctrl-C, and each
    worker would take it again until its work begins.
    """
    with block_signals(), _script_out_of_sight():
        resource_tracker.ensure_running()
        # Which has unblocked what it knows of.
        with block_signals():
            yield


@contextmanager
def _script_out_of_sight() -> Iterator[None]:
    """Workers need nothing of the script that runs; on its sight they would run it again, up to where it calls us.

    It is why multiprocessing wants `if __name__ == "__main__":` in every script, and fails without.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
