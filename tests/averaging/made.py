"""Runs that were never trained: a recipe and one checkpoint of any tensors."""

import torch

from tests.language_run import language_recipe
from tests.small_run import small_recipe
from trimtab.averaging.members import Member, open_member
from trimtab.averaging.result_folder import plain_tokenizer, write_result
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.types import TrainState

WEIGHTS = {"a": torch.ones(2, 3), "norm.weight": torch.zeros(3)}
MARKS = {"tokenizer": "ab" * 32}


def made(folder, *, step=4, model=WEIGHTS, optimizer=None, marks=MARKS, **changes) -> Member:
    """The checkpoint of a run folder that holds these tensors."""
    recipe = small_recipe(folder / "recipe", **changes)
    return _saved(folder, recipe, step=step, model=model, optimizer=optimizer or {}, marks=marks)


def made_of_texts(folder, *, step=4, **changes) -> Member:
    """The checkpoint of a language model of texts; `PAIRS` of `tests.language_run` make it one of pairs."""
    recipe = language_recipe(folder / "recipe", **changes)
    return _saved(folder, recipe, step=step, model=WEIGHTS, optimizer={}, marks=MARKS)


def _saved(folder, recipe, *, step, model, optimizer, marks) -> Member:
    with RunFolder.create(folder / "run") as run:
        run.write_recipe(recipe.read_text())
        CheckpointStore(run.checkpoints, keep=3).save(
            TrainState(step=step), model=model, optimizer=optimizer, fingerprints=marks
        )
    return open_member(f"{folder / 'run'}@{step}")


def variant(folder, member, change) -> str:
    """A run like that of the member, its weights changed; gives its name."""
    weights = {name: change(tensor.clone()) for name, tensor in member.load().items()}
    write_result(folder, weights, like=member, members=[member], tokenizer=plain_tokenizer(member))
    return str(folder)
