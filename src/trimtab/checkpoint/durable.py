"""Files that are on the disk when the call returns, hashed on the way, and replaced as a whole or not at all."""

import errno
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trimtab.checkpoint.disk_space import RESUME, failures_reported

_PIECE = 4 * 2**20
"""Bytes hashed and written at a time; small enough to stay in a processor's cache between the two."""


@dataclass(frozen=True, slots=True)
class Written:
    """What went to the disk."""

    size: int
    sha256: str


def write_file(path: Path, chunks: Iterable[bytes | memoryview]) -> Written:
    """Writes a new file, hashing what it writes, and syncs it; raises OSError, FileExistsError among them."""
    digest, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for chunk in chunks:
            view = memoryview(chunk)
            for start in range(0, len(view), _PIECE):
                piece = view[start : start + _PIECE]
                digest.update(piece)
                file.write(piece)
            size += len(view)
        # Without the flush, fsync would sync a file that still lacks what Python holds back.
        file.flush()
        os.fsync(file.fileno())
    return Written(size, digest.hexdigest())


def replace_file(path: Path, content: bytes, *, fix: str = RESUME) -> None:
    """Puts `content` in the place of `path`; a reader sees the old file or the new one, whatever dies when.

    Raises DiskFull where the disk is full, with `fix` as the way out, and RunFailed for other failures; the old file is
    intact then. One writer at a time.
    """
    draft = path.with_name(f".{path.name}.tmp")
    with failures_reported(path.name, folder=path.parent, needed=len(content), fix=fix):
        try:
            draft.unlink(missing_ok=True)
            write_file(draft, [content])
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes names that were added, renamed or removed in a folder last; does nothing where the file system cannot."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
