"""What a store has to say of checkpoints that it leaves out, sets aside, removes or cannot mark."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.checkpoint.manifest import Damaged
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


def damaged(name: str, problem: Damaged, *, kept: Path) -> Finding:
    """A checkpoint that is not what its manifest says."""
    return Finding(
        code="K901",
        name="damaged-checkpoint",
        severity="warning",
        message=f"{name} is not used: {problem.file} {problem.reason}",
        fix="the next older one is used; put back the file if there is a copy, and look at the health of the disk",
        where=str(kept),
    )


def newest_damaged(checkpoints: Path, *, newest: str, used: str) -> Finding:
    """The newest checkpoint of a run is not sound, and the best is only the best that an older one knows."""
    return Finding(
        code="K901",
        name="damaged-checkpoint",
        severity="warning",
        message=f"{newest} is not sound; the best as {used} knows it is used",
        fix="go on with the run by --resume, which sets the damaged one aside and makes it anew",
        where=str(checkpoints),
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


def newer(folder: Path, what: str) -> Finding:
    """A checkpoint that this version cannot read."""
    return Finding(
        code="K902",
        name="newer-checkpoint",
        severity="warning",
        message=f"left out: {what}",
        why="A newer trimtab wrote it in a form that this one does not know; it is neither read nor touched.",
        fix="update trimtab; otherwise the run goes on from an older one",
        where=str(folder),
    )


def abandoned(name: str, why: str, *, kept: Path) -> Finding:
    """A checkpoint of a branch that the run has left."""
    return Finding(
        code="K903",
        name="abandoned-checkpoint",
        severity="note",
        message=f"{name} set aside: {why}",
        why="As the newest it would be taken for the run's own at the next resume.",
        fix="delete the folder if that branch is not wanted",
        where=str(kept),
    )


def foreign_file(folder: Path, name: str) -> Finding:
    """A file that the manifest does not know."""
    return Finding(
        code="K906",
        name="foreign-file",
        severity="warning",
        message=f"{name} does not belong to this checkpoint",
        why="It is never read; somebody may believe that it is.",
        fix="move it elsewhere",
        where=str(folder),
    )
