"""How the folders inside `checkpoints/` are named, and what each name means.

step-00000500                          committed
.draft-step-00000500-4711-1f00ba12     being written by process 4711
.corrupt-step-00000500-1f00ba12        was committed, found damaged, kept for inspection
.abandoned-step-00000500-1f00ba12      of a branch that the run left
.trash-step-00000500-1f00ba12          being deleted
"""

import errno
import os
import re
import uuid
from pathlib import Path
from typing import Literal

from trimtab.errors import input_error

Aside = Literal["corrupt", "abandoned", "trash"]

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_COMMITTED = re.compile(r"step-([0-9]{8,18})")
_DRAFT = re.compile(r"\.draft-(step-[0-9]{8,18})-[0-9]+-[0-9a-f]+")
_ONCE_COMMITTED = re.compile(r"\.(corrupt|abandoned)-step-.*")
_CORRUPT = re.compile(r"\.corrupt-step-.*")
_ABANDONED = re.compile(r"\.abandoned-step-.*")
_TRASH = re.compile(r"\.trash-step-.*")


def step_name(step: int) -> str:
    """Name of the committed folder of a step."""
    return f"step-{step:08d}"


def draft_name(step: int) -> str:
    """A name that no other process and no earlier save has used."""
    return f".draft-{step_name(step)}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def set_aside(path: Path, why: Aside) -> Path:
    """Renames a committed folder so that it no longer counts; gives its new path."""
    target = path.with_name(f".{why}-{path.name}-{uuid.uuid4().hex[:8]}")
    os.rename(path, target)
    return target


def list_steps(folder: Path) -> list[int]:
    """Steps that were committed, ascending; whether they are sound is not looked at. By name, never by time."""
    matches = (_COMMITTED.fullmatch(name) for name in _names(folder))
    # A name such as step-0000000500 is not ours: one step has one name.
    return sorted(int(match[1]) for match in matches if match and step_name(int(match[1])) == match[0])


def list_drafts(folder: Path) -> list[tuple[Path, str]]:
    """Drafts, each with the name that it would be committed under."""
    matches = ((name, _DRAFT.fullmatch(name)) for name in _names(folder))
    return sorted((folder / name, match[1]) for name, match in matches if match)


def list_trash(folder: Path) -> list[Path]:
    """Folders whose deletion was begun."""
    return sorted(folder / name for name in _names(folder) if _TRASH.fullmatch(name))


def list_abandoned(folder: Path) -> list[Path]:
    """Checkpoints of branches that the run left."""
    return sorted(folder / name for name in _names(folder) if _ABANDONED.fullmatch(name))


def list_damaged(folder: Path) -> list[str]:
    """Names of checkpoints that were found damaged and set aside."""
    return sorted(name for name in _names(folder) if _CORRUPT.fullmatch(name))


def ever_committed(folder: Path) -> bool:
    """Whether any checkpoint was ever committed, sound or not."""
    return bool(list_steps(folder)) or any(_ONCE_COMMITTED.fullmatch(name) for name in _names(folder))


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return []
        # To take it for empty would mean to start again from nothing.
        raise input_error(
            f"{folder} cannot be read: {error.strerror}",
            got=error.strerror or str(error),
            allowed="a folder that you may read",
            fix="make it readable, or name another run",
            where=str(folder),
        ) from None
