"""Which checkpoints are kept, and how the others go: renamed first, so that a kill leaves no half one behind."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from trimtab.checkpoint.log_findings import Tell
from trimtab.checkpoint.step_folders import set_aside
from trimtab.run_findings.checkpoints import LEFTOVER_NOT_REMOVED


def surplus(
    steps: Sequence[int], *, keep: int, best: int | None, healthy: int | None = None, settling: int = 0
) -> list[int]:
    """Of ascending steps, those to remove: all but the newest `keep`, the best, the newest healthy one and its heirs.

    A checkpoint can be marked healthy once the run is `settling` steps past it. So that one is there to be marked,
    whatever `keep` is, two of those newer than the newest healthy one stay besides: the newest that is old enough,
    and the oldest that is not yet.
    """
    assert keep >= 1, keep
    stay = {*steps[-keep:], best, healthy}
    heirs = [step for step in steps if healthy is None or step > healthy]
    settled = [step for step in heirs if steps[-1] - step >= settling]
    waiting = [step for step in heirs if steps[-1] - step < settling]
    stay.update(settled[-1:] + waiting[:1])
    return [step for step in steps if step not in stay]


def discard(path: Path, *, tell: Tell) -> None:
    """Removes a committed folder; reports a failure without raising it, and the next start tries again."""
    try:
        path = set_aside(path, "trash")
    except OSError as error:
        _tell_left(path, error, tell)
        return
    delete(path, tell=tell)


def delete(path: Path, *, tell: Tell) -> None:
    """Removes a folder that does not count as a checkpoint; reports a failure without raising it. Follows no link."""
    try:
        # Given a pipe, rmtree would wait for a writer.
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        pass
    except OSError as error:
        _tell_left(path, error, tell)


def _tell_left(path: Path, error: OSError, tell: Tell) -> None:
    tell(LEFTOVER_NOT_REMOVED.found(f"{path.name} could not be removed: {error.strerror}", where=str(path)))
