"""Findings about checkpoints that a store skips, sets aside, removes or cannot mark."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.checkpoint.manifest import Damaged
from trimtab.finding import Finding
from trimtab.run_findings.checkpoints import (
    ABANDONED_CHECKPOINT,
    ABANDONED_REMOVED,
    DAMAGED_CHECKPOINT,
    FOREIGN_FILE,
    HEALTHY_MARK_NOT_WRITTEN,
    NEWER_CHECKPOINT,
)


def not_marked(folder: Path, reason: str) -> Finding:
    """A checkpoint that could not be marked healthy."""
    return HEALTHY_MARK_NOT_WRITTEN.found(
        f"{folder.name} could not be marked healthy: {reason}; training continues", where=str(folder)
    )


def damaged(name: str, problem: Damaged, *, kept: Path) -> Finding:
    """A checkpoint that is not what its manifest says."""
    return DAMAGED_CHECKPOINT.found(
        f"{name} is not used: {problem.file} {problem.reason}",
        why="",
        fix="the next older one is used; restore the file if you have a copy, and check the disk",
        where=str(kept),
    )


def newest_damaged(checkpoints: Path, *, newest: str, used: str) -> Finding:
    """The newest checkpoint of a run is not sound, and the best is only the best that an older one knows."""
    return DAMAGED_CHECKPOINT.found(
        f"{newest} is not sound; the best as {used} knows it is used", why="", where=str(checkpoints)
    )


def abandoned_removed(folder: Path, names: Sequence[str]) -> Finding:
    """Checkpoints of branches left earlier that made way for those of the newest."""
    return ABANDONED_REMOVED.found(
        f"{len(names)} checkpoints of branches that the run left earlier were removed, those of the branch "
        f"it has just left are kept: {', '.join(names)}",
        where=str(folder),
    )


def newer(folder: Path, what: str) -> Finding:
    """A checkpoint that this version cannot read."""
    return NEWER_CHECKPOINT.found(f"left out: {what}", where=str(folder))


def abandoned(name: str, why: str, *, kept: Path) -> Finding:
    """A checkpoint of a branch that the run has left."""
    return ABANDONED_CHECKPOINT.found(f"{name} set aside: {why}", where=str(kept))


def foreign_file(folder: Path, name: str) -> Finding:
    """A file that the manifest does not know."""
    return FOREIGN_FILE.found(f"{name} does not belong to this checkpoint", where=str(folder))
