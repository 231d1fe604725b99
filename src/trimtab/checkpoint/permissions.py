"""Checks all permissions that a run needs before it continues, and reports them together."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from trimtab.errors import InputError, input_error

CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Errors of the operating system that say that a place may not be written to."""
_MOST_NAMES = 5


def check_permissions(folder: Path, *, written: Iterable[Path], read: Iterable[Path]) -> None:
    """InputError if the folder of a run, or one of these files and folders of it, is closed to this process.

    Of folders, those that are `written` are also looked into. What is not there needs no right.
    """
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        closed = [path for path in written if not _open_to_us(path, os.R_OK | os.W_OK)]
        closed += [path for each in read for path in _with_files(each) if not _open_to_us(path, os.R_OK)]
    elif not os.path.lexists(folder):
        return
    else:
        closed = [folder]
    if not closed:
        return
    names = [str(path.relative_to(folder)) if path != folder else f"the folder {folder}" for path in closed]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    why = "a disk that is mounted read-only" if _is_read_only(closed[0]) else "no permission"
    raise not_ours_to_write(folder, got=f"{why}: {', '.join(names[:_MOST_NAMES])}{more}", where=closed[0])


def not_ours_to_write(folder: Path, *, got: str, where: Path) -> InputError:
    """The error for a run in which this process cannot train."""
    return input_error(
        f"{folder}: a run cannot be trained there, because some of it is not readable and writable",
        got=got,
        allowed="a folder that you may read and write, with all files of the run",
        fix=f"ask its owner for permission, or run `chmod -R u+rwX {quote(str(folder))}` if it is yours; or copy "
        "it to a folder of your own and train there with --out",
        where=str(where),
    )


def _with_files(path: Path) -> list[Path]:
    """The path and, of a folder, what lies in it at any depth; a folder that is closed stands for what it holds."""
    if path.is_symlink() or not os.path.isdir(path):
        return [path]
    inside = [Path(at) / name for at, folders, files in os.walk(path) for name in (*folders, *files)]
    return [path, *inside]


def _open_to_us(path: Path, mode: int) -> bool:
    if os.path.isdir(path):
        mode |= os.X_OK
    return os.access(path, mode) or not os.path.lexists(path)


def _is_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
