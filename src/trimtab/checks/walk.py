"""The files that a check looks at: those that are named, and what folders hold and no ignore file leaves out."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from trimtab.checks.read.document import SUFFIXES
from trimtab.checks.read.limits import MAX_BYTES
from trimtab.checks.record import record
from trimtab.errors import InputError, Problem

NEVER: Final = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        ".bzr",
        ".jj",
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        "site-packages",
        "build",
        "dist",
        ".tox",
        ".nox",
        ".eggs",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".ipynb_checkpoints",
    )
)
"""Folders that hold nothing a person wrote."""
MAX_DEPTH: Final = 100


@record
class Found:
    """One file to check."""

    path: str
    """As the user would write it; `-` is standard input."""
    named: bool
    """Whether the user named it: then a file that trimtab does not know is reported."""
    closed: str = ""
    """Of a folder below a named one: why nobody could look into it."""


def walk(paths: Sequence[str], *, named_as_found: bool = False) -> list[Found]:
    """Every file once, in a fixed order; raises InputError with all paths that are not there or may not be entered.

    With `named_as_found` a file that is named counts no more than one that a folder holds. A named pipe is waited for,
    as every program that reads one does; one that a folder holds is passed over.
    """
    problems = [problem for path in paths if path != "-" and (problem := _problem(path)) is not None]
    if problems:
        raise InputError(*problems)
    found: dict[str, Found] = {}
    for path in paths:
        if path != "-" and os.path.isdir(path):
            for each in _inside(Path(path)):
                found.setdefault(each.path, each)
        elif path == "-" or not named_as_found:
            found[path] = Found(path, named=True)
        elif _is_small(path):
            found.setdefault(path, Found(path, named=False))
    return list(found.values())


def _problem(path: str) -> Problem | None:
    """What is wrong with a path that a user named: a user who names a folder must learn that nothing in it was
    checked."""
    if not os.path.lexists(path):
        return Problem(
            what=f"{path}: no such file or folder",
            got="no file or folder at this path",
            allowed="existing files and folders, or - for standard input",
            fix=_near(path),
            where=path,
        )
    if os.path.isdir(path):
        try:
            with os.scandir(path):
                return None
        except OSError as error:
            got = error.strerror or str(error)
            return Problem(
                what=f"{path}: cannot be read",
                got=got,
                allowed="a folder to look into",
                fix="change its permissions, or name another",
                where=path,
            )
    return None


def _near(path: str) -> str:
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return "check the path"
    near = [os.path.join(folder, each) for each in get_close_matches(name, names, n=2)]
    return f"did you mean {' or '.join(near)}?" if near else "check the path"


def _inside(top: Path) -> Iterator[Found]:
    from trimtab.checks.ignored import Ignored  # late: only folders have something to ignore

    waiting = [(top, Ignored.above(top), 0)]
    while waiting:
        folder, ignored, depth = waiting.pop()
        ignored = ignored.within(folder)
        folders: list[Path] = []
        try:
            entries = _entries(folder)
        except OSError as error:
            yield Found(str(folder), named=False, closed=error.strerror or str(error))
            continue
        for entry in entries:
            path = folder / entry.name
            if _is_folder(entry):
                is_known = entry.name in NEVER or ignored.matches(path, is_folder=True)
                if depth < MAX_DEPTH and not is_known:
                    folders.append(path)
            elif _is_readable(entry) and not ignored.matches(path, is_folder=False):
                yield Found(str(path), named=False)
        waiting.extend((each, ignored, depth + 1) for each in reversed(folders))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, by name; raises OSError if it may not be read."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Links to folders are not followed: they may lead in a circle, and to what is checked already."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_readable(entry: os.DirEntry[str]) -> bool:
    """By suffix and size: a folder's large files are data, not configurations."""
    return os.path.splitext(entry.name)[1].lower() in SUFFIXES and _is_small(entry.path)


def _is_small(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
