"""Disk space: checked before writing; errors give the numbers."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import DiskFull, RunFailed

RESUME = "free some space, then continue with --resume; everything that was committed before is intact"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def check_disk_space(folder: Path, needed: int) -> None:
    """Raises DiskFull where the file system of `folder` has fewer than `needed` bytes free; quotas are not seen
    here."""
    if shutil.disk_usage(folder).free < needed:
        raise _disk_full(folder, needed, RESUME)


@contextmanager
def failures_reported(what: str, *, folder: Path, needed: int = 0, fix: str = RESUME) -> Iterator[None]:
    """Turns errors of the operating system inside the block into words: DiskFull for a full disk, else RunFailed.

    `needed` is left out of the message where nobody knows it; `fix` says what to do about a full disk.

    What the block cleans up before it lets the error out counts as free in the message.
    """
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise _disk_full(folder, needed, fix) from error
        place = f"   ({error.filename})" if error.filename else ""
        raise RunFailed(f"{what} cannot be written: {error.strerror}{place}") from error


def is_full(error: OSError) -> bool:
    """Whether the error says that a disk is full or a quota exhausted."""
    return error.errno in _FULL


def in_words(count: int) -> str:
    """Bytes as a person says them: `1.4 GB`, powers of ten."""
    for scale, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"


def _disk_full(folder: Path, needed: int, fix: str) -> DiskFull:
    try:
        free = in_words(shutil.disk_usage(folder).free)
    except OSError:
        free = "unknown"
    return DiskFull(
        f"not enough disk space for {folder}\n"
        + (f"  needed  {in_words(needed)}\n" if needed else "")
        + f"  free    {free} (a quota may leave less)\n"
        f"  fix     {fix}"
    )
