"""Which checkpoints are kept, and how the others go: renamed first, so that a kill leaves no half one behind."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from trimtab.checkpoint.step_folders import set_aside
from trimtab.checkpoint.telling import Tell
from trimtab.finding import Finding


def surplus(steps: Sequence[int], *, keep: int, best: int | None) -> list[int]:
    """Of ascending steps, those to remove: all but the newest `keep` and the best."""
    assert keep >= 1, keep
    return [step for step in steps[:-keep] if step != best]


def discard(path: Path, *, tell: Tell) -> None:
    """Removes a committed folder; a failure is told, never raised, and the next start tries again."""
    try:
        path = set_aside(path, "trash")
    except OSError as error:
        _tell_left(path, error, tell)
        return
    delete(path, tell=tell)


def delete(path: Path, *, tell: Tell) -> None:
    """Removes a folder that does not count as a checkpoint; a failure is told, never raised."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        _tell_left(path, error, tell)


def _tell_left(path: Path, error: OSError, tell: Tell) -> None:
    tell(
        Finding(
            code="K904",
            name="leftover-not-removed",
            severity="warning",
            message=f"{path.name} could not be removed: {error.strerror}",
            why="It takes room on the disk and is not needed any more",
            fix="remove it by hand; the run does not use it",
            where=str(path),
        )
    )
