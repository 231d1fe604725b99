"""Checks before a run for what would end it at its first save, evaluation or export."""

import os
from importlib.util import find_spec
from pathlib import Path

from torch import nn

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig
from trimtab.config.trackers import PACKAGES
from trimtab.errors import InputError, input_error
from trimtab.metrics.catalogue import OF_TRANSLATIONS
from trimtab.metrics.metric import MetricSettings
from trimtab.model.lora import checkpoint_weights

BYTES_OF_A_MOMENT = {"float32": 4, "bfloat16": 2, "8bit": 1.04, "4bit": 0.54}
"""For each weight, scales of blocks included."""


def check_space_for_checkpoint(store: CheckpointStore, model: nn.Module, step: StepConfig) -> None:
    """DiskFull where not even one checkpoint fits on the disk: told now, and not at the first save."""
    tensors = checkpoint_weights(model).values()
    weights = sum(each.numel() * each.element_size() for each in tensors)
    numbers = sum(each.numel() for each in tensors)
    states = getattr(step.optimizer, "states", "float32")
    # In float32, whatever the weights are, but for states that the recipe says to be narrower.
    moments = int(BYTES_OF_A_MOMENT[states] * numbers) * step.optimizer.moments
    averaged = 4 * numbers * (step.ema is not None)
    store.check_disk_space(int(1.1 * (weights + moments + averaged)))


def check_tokenizers_outside(run: RunFolder, recipe: Recipe) -> None:
    """InputError if the recipe names a tokenizer in the folder of the run's own, which a new run empties."""
    place = os.path.realpath(run.tokenizer)
    for key in ("tokenizer", "source_tokenizer"):
        path = getattr(getattr(recipe.data, key), "path", None)
        if path is not None and Path(os.path.realpath(Path(path).expanduser())).is_relative_to(place):
            raise input_error(
                f"data.{key}.path: is inside the run's own tokenizer folder",
                got=str(path),
                allowed=f"a place outside {run.tokenizer}",
                fix="move it, or train in another folder with --out",
            )


def check_metrics(recipe: Recipe) -> None:
    """InputError if a library for a metric is missing: told now, and not at the first evaluation."""
    for name in recipe.evaluate.metrics:
        if metric := OF_TRANSLATIONS.get(name):
            for files in recipe.data.valid.values():
                metric.check(MetricSettings(bleu_tokenizer=files.bleu_tokenizer))


def check_trackers(recipe: Recipe) -> None:
    """InputError if the package of a tracker in `log` is not installed: told before training."""
    missing = [PACKAGES[name][1] for name in recipe.log if find_spec(PACKAGES[name][0]) is None]
    if missing:
        raise input_error(
            "log: needs a package that is not installed",
            got=f"log: [{', '.join(recipe.log)}]",
            allowed="trackers whose packages are installed",
            fix=f"pip install {' '.join(missing)}, or take {' and '.join(missing)} out of `log`",
        )


def check_exports(recipe: Recipe) -> None:
    """InputError with every key that keeps the model from being exported as `export` says: told before training."""
    found = [
        problem
        for target in recipe.export
        for problem in obstacles(
            target, model=recipe.model, transforms=recipe.data.transforms, factors=recipe.data.source_factors
        )
    ]
    if found:
        raise InputError(*dict.fromkeys(found))
