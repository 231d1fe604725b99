"""The checkpoints from which a step can be taken again."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.manifest import Damaged, NewerFormat
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_abandoned, list_steps, step_name
from trimtab.progress import Progress
from trimtab.replaying.left_out import LeftOut

ANY_STEP = 2**63
"""Later than every step."""
_ABANDONED = re.compile(r"\.abandoned-step-([0-9]{8,18})-[0-9a-f]+")

Place = tuple[int, Path]
"""A step and the folder of its checkpoint."""


def sound_before(folder: RunFolder, step: int, progress: Progress) -> Iterator[Checkpoint]:
    """The sound checkpoints of earlier steps, the newest first."""
    return _sound(_committed_before(folder, step), progress)


def sound_of_the_branch(folder: RunFolder, left: LeftOut, progress: Progress) -> Iterator[Checkpoint]:
    """The same of the branch that took a step which is left out now: its own, which were set aside, and those from
    before the branches parted. The run's newer ones did not learn from the steps between."""
    places = [*_committed_before(folder, left.stretch[0]), *_abandoned_before(folder, left.step)]
    places.sort(key=lambda place: place[0], reverse=True)
    for found in _sound(places, progress):
        if not is_set_aside(found) or _left_out_by(found) == left.earlier:
            yield found


def is_set_aside(checkpoint: Checkpoint) -> bool:
    """Whether it is of a branch that the run has left."""
    return checkpoint.folder.name != step_name(checkpoint.step)


def _committed_before(folder: RunFolder, step: int) -> list[Place]:
    steps = reversed(list_steps(folder.checkpoints))
    return [(number, folder.checkpoints / step_name(number)) for number in steps if number < step]


def _abandoned_before(folder: RunFolder, step: int) -> list[Place]:
    matches = ((path, _ABANDONED.fullmatch(path.name)) for path in list_abandoned(folder.checkpoints))
    places = [(int(match[1]), path) for path, match in matches if match]
    return [place for place in places if place[0] < step]


def _sound(places: Iterable[Place], progress: Progress) -> Iterator[Checkpoint]:
    for number, path in places:
        try:
            found = open_checkpoint(path, committed_as=step_name(number))
            found.verify()
            found.load_state()
        except (Damaged, NewerFormat) as error:
            progress.message(f"not used: {error.problems[0].what}")
            continue
        yield found


def _left_out_by(checkpoint: Checkpoint) -> tuple[tuple[int, int], ...]:
    """The stretches that were left out when it was saved."""
    stretches = checkpoint.load_state().guard.get("masked", ())
    return tuple((int(first), int(last)) for first, last in stretches)
