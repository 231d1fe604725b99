"""One process trains in a run folder at a time; the lock goes with the process, however that dies."""

import errno
import fcntl
import os
import re
import stat
from pathlib import Path

from trimtab.checkpoint.disk_space import failures_reported
from trimtab.checkpoint.permissions import CLOSED, not_ours_to_write
from trimtab.errors import InputError, input_error

LOCK = ".lock"
_SIGNATURE = re.compile(rb"([1-9]\d{0,9}) on (\S{1,100})\n?")
"""What the process that holds a lock writes into it."""
_HELD = frozenset({errno.EACCES, errno.EAGAIN})
_NOT_PLAIN = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP})


class Lock:
    """A lock on a folder, held until `release` or the end of the process.

    It is a POSIX record lock: unlike one by flock it is not inherited by forked data workers, which may outlive a
    killed trainer for seconds and would keep the run from being resumed. For the same reason it does not keep a
    process from itself.
    """

    def __init__(self, folder: Path) -> None:
        """Takes the lock; raises InputError with the holder's pid where another process has it."""
        path = folder / LOCK
        with failures_reported(str(path), folder=folder):
            self._descriptor = _open(path)
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                # Some network file systems have no locks; a run there continues without.
                if error.errno not in _UNSUPPORTED:
                    holder = _holder(self._descriptor)
                    os.close(self._descriptor)
                    raise (_held(folder, holder) if error.errno in _HELD else error) from None
        self._sign()

    def release(self) -> None:
        """Gives the lock back; the file stays, since removing it could let two processes in."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _sign(self) -> None:
        if os.fstat(self._descriptor).st_nlink > 1:
            return  # what is a file elsewhere as well is not written into
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        except OSError:
            pass  # the lock holds on a full disk, too; only the message to others is poorer


def has_ended(signature: bytes) -> bool:
    """Whether the process that signed a lock was of this machine and is no more; False where that is not known."""
    found = _SIGNATURE.fullmatch(signature)
    if found is None or found[2].decode("utf-8", "replace") != os.uname().nodename:
        return False
    try:
        os.kill(int(found[1]), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _open(path: Path) -> int:
    """Follows no link: signing the lock would cut short what the link points to."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        if error.errno in _NOT_PLAIN:
            raise _no_lock(path) from None
        if error.errno in CLOSED:
            raise not_ours_to_write(path.parent, got=f"{error.strerror}: {path.name}", where=path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_lock(path)
    return descriptor


def _no_lock(path: Path) -> InputError:
    return input_error(
        f"{path.name} is not a plain file",
        got="a link, a folder, a pipe or a device",
        allowed="a file that training creates, or nothing",
        fix="remove it",
        where=str(path),
    )


def _held(folder: Path, holder: str) -> InputError:
    return input_error(
        f"another process is training in {folder}",
        got=f"process {holder}",
        allowed="one process at a time",
        fix="wait for it or stop it, or train elsewhere with --out",
        where=str(folder / LOCK),
    )


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode("ascii", "replace").strip() or "unknown"
