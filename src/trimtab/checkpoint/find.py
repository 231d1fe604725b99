"""Finds checkpoints of a run without changing anything, while another process may be training in it."""

from pathlib import Path

from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.manifest import Damaged, NewerFormat
from trimtab.checkpoint.step_folders import list_steps, step_name


def newest(folder: Path) -> Checkpoint | None:
    """The newest checkpoint whose manifest and state are sound; the tensors are verified when they are loaded."""
    return newest_before(folder, 2**63)


def newest_before(folder: Path, step: int) -> Checkpoint | None:
    """The newest checkpoint of an earlier step whose manifest and state are sound."""
    for older in reversed([each for each in list_steps(folder) if each < step]):
        try:
            found = open_checkpoint(folder / step_name(older))
            found.load_state()
        except (Damaged, NewerFormat):
            continue
        return found
    return None


def best_step(folder: Path) -> int | None:
    """The step of the best evaluation, as the newest sound checkpoint knows it, if a checkpoint of it is there.

    It is part of the state, so it is committed together with the checkpoint; a file beside it could disagree.
    """
    last = newest(folder)
    step = last.load_state().best.get("step") if last else None
    return step if step in list_steps(folder) else None
