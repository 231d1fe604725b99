"""What would end a run at its first save, evaluation or export, told before it begins."""

import os
from pathlib import Path

from trimtab.build import Parts
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.errors import InputError, input_error
from trimtab.scoring.scores import bleu_metric

MOMENTS = {"adamw": 2, "stable_adamw": 2, "lion": 1}
"""Tensors of the size of the weights that an optimizer keeps; of the others fewer, or none."""


def check_room_for_one(store: CheckpointStore, parts: Parts) -> None:
    """NoRoom where not even one checkpoint fits on the disk: told now, and not at the first save."""
    tensors, step = parts.model.state_dict().values(), parts.recipe.step
    weights = sum(each.numel() * each.element_size() for each in tensors)
    moments = 4 * sum(each.numel() for each in tensors)  # in float32, whatever the weights are
    copies = MOMENTS.get(step.optimizer.kind, 0) + (step.ema is not None)
    store.check_room(int(1.1 * (weights + moments * copies)))


def check_tokenizers_outside(run: RunFolder, recipe: Recipe) -> None:
    """InputError where the recipe names a tokenizer in the folder of the run's own, which a new run empties."""
    place = os.path.realpath(run.tokenizer)
    for key in ("tokenizer", "source_tokenizer"):
        path = getattr(getattr(recipe.data, key), "path", None)
        if path is not None and Path(os.path.realpath(Path(path).expanduser())).is_relative_to(place):
            raise input_error(
                f"data.{key}.path: lies where the run puts a tokenizer of its own",
                got=str(path),
                allowed=f"a place outside {run.tokenizer}",
                fix="move it, or train in another folder with --out",
            )


def check_metrics(recipe: Recipe) -> None:
    """InputError where a library for a metric is missing: told now, and not at the first evaluation."""
    if "bleu" in recipe.evaluate.metrics:
        for files in recipe.data.valid.values():
            bleu_metric(files.bleu_tokenizer)


def check_exports(recipe: Recipe) -> None:
    """InputError with every key that keeps the model from being exported as `export` says: told before training."""
    found = [
        problem
        for target in recipe.export
        for problem in obstacles(target, model=recipe.model, transforms=recipe.data.transforms)
    ]
    if found:
        raise InputError(*dict.fromkeys(found))
