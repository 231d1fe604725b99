"""What the process that workers are forked from imports: all that they need, and a way to end without a word."""

import sys
from types import TracebackType

import trimtab.data.worker_pool  # noqa: F401

NOBODY_THERE = {"EOFError", "UnpicklingError", "BrokenPipeError", "ConnectionResetError"}
"""What a worker meets on its first line if the process that asked for it was killed meanwhile."""


def end_quietly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Shows any other error of a worker's start; what goes wrong in its work comes another way."""
    if kind.__name__ not in NOBODY_THERE:
        sys.__excepthook__(kind, error, trace)


def watch_start() -> None:
    """To be called in the process that workers are forked from, and nowhere else."""
    sys.excepthook = end_quietly


if any("from multiprocessing.forkserver import main" in argument for argument in sys.orig_argv):
    watch_start()
