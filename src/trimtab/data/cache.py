"""The cache of line indexes and decompressed text; its files appear atomically."""

import errno
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from trimtab.errors import DiskFull, TrimtabError, input_error

_TIME_OF_NAME = 946_684_800
"""The first second of 2000: no file system is too young for it."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def default_cache() -> Path:
    """`$TRIMTAB_CACHE`, or `trimtab` in `$XDG_CACHE_HOME`, or `~/.cache/trimtab`; looked up at each call."""
    if own := os.environ.get("TRIMTAB_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "trimtab"
    try:
        return Path.home() / ".cache" / "trimtab"
    except RuntimeError:  # a container whose user has no home
        return _temporary()


def writable_folder(folder: Path) -> Path:
    """The folder itself, made where it is missing, or a temporary one where nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        if error.errno in _DISK_FULL:
            raise _disk_full(folder) from error
        return _temporary()


@contextmanager
def committed(path: Path, *, follows_from_name: bool = False) -> Iterator[BinaryIO]:
    """A file to write that appears under its name only once it is complete and on disk.

    With `follows_from_name` every process that writes it writes the same, and it has the same time of change each time:
    one that two runs make at once stays the file that the first of them has begun to read.

    Raises DiskFull, naming the folder, where the disk or the quota is full, InputError if writing is not allowed;
    nothing is left behind then.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(draft, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if follows_from_name:
            set_time_of_name(draft)
        os.replace(draft, path)
    except BaseException as error:
        with suppress(OSError):
            draft.unlink()
        if isinstance(error, OSError):
            raise _not_written(path, error) from error
        raise


def set_time_of_name(path: Path) -> None:
    """The time of change of what follows from its name: one for all."""
    # Of access it is now, or what removes files that nobody reads would take it.
    os.utime(path, (time.time(), _TIME_OF_NAME))


def _not_written(path: Path, error: OSError) -> TrimtabError:
    if error.errno in _DISK_FULL:
        return _disk_full(path.parent)
    return input_error(f"{path}: cannot be written", got=error.strerror or str(error))


def _disk_full(folder: Path) -> DiskFull:
    return DiskFull(
        f"{folder}: no space left to write in this folder\n"
        "  fix     free some space there; indexes and unpacked text go to another disk with TRIMTAB_CACHE=FOLDER"
    )


def _temporary() -> Path:
    """A folder of this user that further runs find again; a fresh one if another user has the name."""
    shared = Path(tempfile.gettempdir()) / f"trimtab-{os.getuid()}"
    with suppress(OSError):
        shared.mkdir(mode=0o700, exist_ok=True)
        found = shared.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and os.access(shared, os.W_OK):
            return shared
    return Path(tempfile.mkdtemp(prefix="trimtab-"))
