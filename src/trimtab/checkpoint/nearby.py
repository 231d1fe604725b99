"""Suggests existing names close to a missing one."""

import difflib
import os
from pathlib import Path


def near_names(path: Path, *, most: int = 5) -> list[str]:
    """Paths of folders beside one that is missing, or no run, whose names are like its name; it is not among them.

    Empty if its parent is missing, too.
    """
    try:
        beside = sorted(entry.name for entry in os.scandir(path.parent) if entry.is_dir())
        beside = [name for name in beside if name != path.name]
    except OSError:
        return []
    return [
        str(path.parent / name) for name in difflib.get_close_matches(path.name, beside, n=most, cutoff=0.6)
    ]
