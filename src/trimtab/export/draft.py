"""A folder that appears when it is complete and verified, or not at all."""

import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from trimtab.checkpoint.disk_space import failures_reported, is_full
from trimtab.checkpoint.durable import sync_folder
from trimtab.errors import Terminated, input_error

_FIX = "free some space, or name a folder on another disk by --out; nothing was left there"


def check_place(out: Path, *, run: Path) -> None:
    """Raises InputError if something is there already, or the place lies inside the run."""
    if os.path.lexists(out):
        raise input_error(
            f"--out {out}: already exists",
            got="a folder" if out.is_dir() else "a file",
            allowed="a new name, since an export never overwrites anything",
            fix="name another folder, or remove this one",
        )
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(run)):
        raise input_error(
            f"--out {out}: lies inside the run",
            got=f"a folder in {run}",
            allowed="a folder outside it",
            fix="name another folder",
        )


@contextmanager
def draft_folder(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` that becomes `out` at the end, and is removed where an error or SIGTERM ends the
    work.

    Its name is its own, so that two exports never write into one folder, and nothing is removed that was not made here:
    what a killed export left stays, and is no export since it has no card. Raises DiskFull where the disk is full,
    InputError if the folder cannot be created, or something is there at the end."""
    draft = out.with_name(f".{out.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}.draft")
    with ended_by_signals(), failures_reported(str(out), folder=_existing(out), fix=_FIX):
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
        except OSError as error:
            if is_full(error):
                raise
            raise input_error(
                f"--out {out}: the folder cannot be created",
                got=error.strerror or str(error),
                allowed="a folder that you may write to",
                fix="name another folder",
            ) from None
        try:
            yield draft
            sync_tree(draft)
            _put_in_place(draft, out)
            sync_folder(out.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and a terminal that goes away raise Terminated inside, so that what is half made can be removed.

    Signals that are already handled or ignored stay as they are, and threads have none of their own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    for each in taken:
        signal.signal(each, _end)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    raise Terminated("stopped by a signal before the folder was complete; nothing was written")


def _put_in_place(draft: Path, out: Path) -> None:
    """A rename would replace an empty folder of another process; of two that make a folder only one succeeds."""
    try:
        os.mkdir(out)
    except FileExistsError:
        check_place(out, run=draft)
        raise
    try:
        os.rename(draft, out)
    except OSError:
        with suppress(OSError):  # another process put something into it meanwhile
            os.rmdir(out)
        check_place(out, run=draft)
        raise


def sync_tree(folder: Path) -> None:
    """Every file and folder in it is on the disk when this returns."""
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(path))


def _existing(path: Path) -> Path:
    return next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
