"""Folders that processes of pytest-xdist share: a run that takes seconds is trained by the first that needs it."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

try:
    import fcntl
except ModuleNotFoundError:  # elsewhere each process has folders of its own
    fcntl = None


def shared_folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of a name, which `make` has filled once; others wait meanwhile.

    Where `make` fails, or its process dies, the next one begins anew.
    """
    base = factory.getbasetemp()
    if fcntl is None:
        make(folder := factory.mktemp(name))
        return folder
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    with locked(base / f"{name}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Waits until no other process has locked this file, where the platform can."""
    with open(file, "w", encoding="utf-8") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_UN)  # a child may have the file open still
