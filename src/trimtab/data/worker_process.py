"""Starts processes that read and tokenise: never by a fork from here, and out of sight of the script that runs."""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from trimtab.errors import RunFailed


def context() -> multiprocessing.context.BaseContext:
    """Never fork from here: this process may have threads and a CUDA context, which do not survive it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["trimtab.data.crew"])
    return found


def started(target: Callable[..., None], *arguments: Any, name: str) -> BaseProcess:
    """A process that does the work; it ends with this one. Raises RunFailed where it cannot be started."""
    process = context().Process(target=target, args=arguments, daemon=True, name=name)
    try:
        with _script_out_of_sight():
            process.start()
    except Exception as error:
        raise RunFailed(
            f"data.workers: a worker could not be started: {error}\n"
            "  fix     set data.workers to 0; what is defined in the script itself cannot be sent to workers,\n"
            "          so put it into a module"
        ) from error
    return process


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
