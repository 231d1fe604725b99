"""The folder of an average, which is used like a run."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from trimtab.averaging.members import Member
from trimtab.checkpoint.disk_space import RESUME
from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.lock import LOCK
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.render import render_recipe
from trimtab.data.input_file import open_input
from trimtab.errors import DiskFull, input_error, reading
from trimtab.tasks.task_of import task_of


def check_result_place(folder: Path) -> None:
    """InputError, before the work, where something is there: a result that is given up half made goes as a whole."""
    with reading(folder):
        taken = sorted({*os.listdir(folder)} - {LOCK}) if folder.is_dir() else []
    if taken:
        raise input_error(
            f"--out {folder}: not empty",
            got=", ".join(taken[:5]),
            allowed="a new or an empty folder",
            fix="name another folder",
            where=str(folder),
        )


def write_result(
    folder: Path,
    weights: Mapping[str, Tensor],
    *,
    like: Member,
    members: Sequence[Member],
    tokenizer: dict[str, bytes],
) -> None:
    """Makes a run folder whose one checkpoint, of the step of `like`, holds the weights and no moments."""
    home = RunFolder(like.checkpoint.run)
    with nothing_left(folder), RunFolder.create(folder) as run:
        run.write_recipe(_recipe(like, home))
        for name, content in tokenizer.items():
            (run.tokenizer / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(run.tokenizer / name, content)
        CheckpointStore(run.checkpoints, keep=1).save(
            replace(like.checkpoint.load_state(), best={}, guard={}),
            model=weights,
            optimizer={},
            # There are no moments to resume from: the message of a resumed run names this.
            fingerprints={
                **like.checkpoint.fingerprints,
                "averaged": ", ".join(member.label for member in members),
            },
        )


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Where no room is left on the disk, the folder goes again: half of an average is no run to continue with."""
    was_there = folder.exists()
    try:
        yield
    except DiskFull as error:
        shutil.rmtree(folder, ignore_errors=True)
        if was_there:
            folder.mkdir(exist_ok=True)
        raise DiskFull(
            str(error).replace(RESUME, "free some space, then say it again; nothing was left there")
        ) from None


def _recipe(like: Member, home: RunFolder) -> str:
    """That of the run; the weights of the result are what was averaged, and there are no others beside them."""
    recipe = like.recipe
    if recipe.evaluate.weights == "raw":
        with reading(home.recipe):
            return home.recipe.read_text(encoding="utf-8")
    evaluate = recipe.evaluate.model_copy(update={"weights": "raw"})
    return render_recipe(recipe.model_copy(update={"evaluate": evaluate}))


def plain_tokenizer(member: Member) -> dict[str, bytes]:
    """What the files of a run's tokenizer hold; InputError for a pipe, a device, or a link, and where it is none."""
    folder = RunFolder(member.checkpoint.run).tokenizer
    held: dict[str, bytes] = {}
    with reading(folder):
        inside = sorted(folder.rglob("*"))
    for path in inside:
        if path.is_symlink():
            raise input_error(
                f"{path}: is a link",
                got=f"a link to {os.readlink(path)}",
                allowed="plain files in the tokenizer's folder of a run",
                fix="replace it with the file itself",
            )
        if not path.is_dir():
            with open_input(path) as file:
                held[str(path.relative_to(folder))] = file.read()
    task_of(member.recipe).check_prepared(folder)
    return held
