"""Silence of data workers in tests: short for one that has given something, long for one that may not have begun."""

from contextlib import contextmanager

import pytest

from trimtab.data import worker_pool as pool

LONG_SECONDS = 60.0
"""Far more than a worker needs to begin with a chunk."""


def end_soon(monkeypatch: pytest.MonkeyPatch, *, seconds: float, first: float = LONG_SECONDS) -> None:
    """A worker is ended once it gives nothing for `seconds`, but has `first` for the first chunk, since on a busy
    machine a process that is in order may need longer to begin."""
    watched, begun = pool._ended_when_silent, set()

    @contextmanager
    def patient(process):
        monkeypatch.setattr(pool, "SILENT_SECONDS", seconds if process.pid in begun else first)
        with watched(process) as silent:
            yield silent
        begun.add(process.pid)  # not reached where its pipe ended

    monkeypatch.setattr(pool, "_ended_when_silent", patient)
