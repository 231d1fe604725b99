"""What the user may have meant: names like the one that is missing."""

import difflib
import os
from pathlib import Path


def near_names(path: Path, *, most: int = 5) -> list[str]:
    """Paths of folders beside a missing one whose names are like its name; empty where its parent is missing, too."""
    try:
        beside = sorted(entry.name for entry in os.scandir(path.parent) if entry.is_dir())
    except OSError:
        return []
    return [
        str(path.parent / name) for name in difflib.get_close_matches(path.name, beside, n=most, cutoff=0.6)
    ]
