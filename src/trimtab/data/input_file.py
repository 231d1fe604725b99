"""Opens a file that the user named, or explains why not, with similar names."""

import difflib
import os
import stat
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from trimtab.errors import InputError, input_error

_ALLOWED = "a file that can be read"


def open_input(path: Path) -> BinaryIO:
    """The file, open for reading bytes; InputError if it is missing, unreadable or no regular file."""
    try:
        # Non-blocking, since opening a named pipe would otherwise wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        raise _missing(path) from None
    except NotADirectoryError:
        raise _missing(path) from None
    except PermissionError:
        raise input_error(
            f"{path}: cannot be read",
            got="no permission",
            allowed=_ALLOWED,
            fix=f"give yourself the right to read it: chmod u+r {quote(str(path))}",
        ) from None
    except (OSError, ValueError) as error:  # a name too long, a NUL in it, a device that does not answer
        raise input_error(
            f"{path}: cannot be opened", got=str(error), allowed=_ALLOWED, fix="name another file"
        ) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    got = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device, which cannot be read twice"
    fix = _inside(path) if stat.S_ISDIR(mode) else "write it to a file first"
    raise input_error(f"{path}: not a file", got=got, allowed=_ALLOWED, fix=fix)


def _missing(path: Path) -> InputError:
    if path.is_symlink():
        return input_error(
            f"{path}: a broken link",
            got=f"a link to {os.readlink(path)}, which is not there",
            allowed=_ALLOWED,
            fix="repair the link, or name the file itself",
        )
    missing, folder = path.name, path.parent
    while not folder.is_dir():
        missing, folder = folder.name, folder.parent
    near = difflib.get_close_matches(missing, _names(folder), n=3)
    inside = "" if folder == path.parent else f" in {folder}"
    fix = (
        f"did you mean {' or '.join(near)}{inside}?"
        if near
        else f"choose an existing file: {_held_by(folder)}"
    )
    got = f"no folder {folder / missing}" if inside else f"no {missing} in its folder"
    return input_error(f"{path}: no such file", got=got, allowed=_ALLOWED, fix=fix)


def _inside(folder: Path) -> str:
    return f"name a file in it: {_held_by(folder)}"


def _held_by(folder: Path) -> str:
    return f"{folder} holds {_some(_names(folder))}"


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _some(names: list[str]) -> str:
    if not names:
        return "nothing"
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
