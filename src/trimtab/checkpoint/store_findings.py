"""What a store has to say besides what it sets aside: marks that were not written, branches that were removed."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.finding import Finding


def not_marked(folder: Path, reason: str) -> Finding:
    """A checkpoint that could not be marked healthy."""
    return Finding(
        code="K908",
        name="healthy-mark-not-written",
        severity="warning",
        message=f"{folder.name} could not be marked healthy: {reason}; training goes on",
        why="A run that goes wrong is taken back to the newest checkpoint so marked, now to an older one.",
        fix="free some space, and look whether the folder can be written to",
        where=str(folder),
    )


def abandoned_removed(folder: Path, names: Sequence[str]) -> Finding:
    """Checkpoints of branches left earlier that made way for those of the newest."""
    return Finding(
        code="K909",
        name="abandoned-removed",
        severity="note",
        message=f"{len(names)} checkpoints of branches that the run left earlier were removed, those of the branch "
        f"it has just left are kept: {', '.join(names)}",
        why="A run that is taken back again and again would fill the disk with what nobody reads.",
        fix="copy what is to be kept out of the folder",
        where=str(folder),
    )
