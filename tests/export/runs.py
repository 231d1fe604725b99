"""Runs of a few steps to export, one for each variant."""

from pathlib import Path

from tests.small_run import small_recipe
from tests.unchecked import model_unchecked

STEPS = "4 steps"


def trained(folder: Path, **changes) -> Path:
    """The folder of a run of `small_recipe` with these changes."""
    from trimtab.launch import train

    quick = {
        "length": STEPS,
        "evaluate.every": STEPS,
        "evaluate.lines": 4,
        "checkpoint.every": STEPS,
        "step.schedule.warmup": "2 steps",
        "data.max_tokens": 20,
    }
    with model_unchecked():
        return train(small_recipe(folder, **{**quick, **changes}), out=folder / "run").run


def of_model(**changes):
    """The same changes as keys of the recipe."""
    return {f"model.{key}": value for key, value in changes.items()}
