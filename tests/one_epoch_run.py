"""A run that meets each of its two thousand short pairs once, so that a broken line is new to the model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.small_run import small_pairs, small_recipe, write_pairs

PAIRS, STEPS, BROKEN_STEP = 2000, 90, 75
BROKEN_TARGET = "z" * 26
CHANGES = {
    "length": f"{STEPS} steps",
    "model.dim": 64,
    "model.feed_forward": 128,
    "step.tokens_per_step": 128,
    "checkpoint.every": "20 steps",
    "checkpoint.keep": 10,
    "data.valid": None,
}


def one_epoch_recipe(folder: Path, *, broken_line: int | None = None, **changes: Any) -> Path:
    """The recipe beside its data; the target of a line (from 1) is nonsense where one is named."""
    recipe = small_recipe(folder, **{**CHANGES, **changes})
    pairs = small_pairs(PAIRS)
    if broken_line is not None:
        pairs[broken_line - 1] = (pairs[broken_line - 1][0], BROKEN_TARGET)
    write_pairs(folder, "train", pairs)
    return recipe


def windows_of(run: Path) -> Iterator[Any]:
    """The windows that the steps of a finished run consumed, one after another."""
    from trimtab.build import build  # late: tests of the light half need no torch
    from trimtab.config.load import load_recipe
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets

    recipe = load_recipe(run / "recipe.yaml").recipe
    parts = build(recipe, open_datasets(recipe, tokenizer_folder=run / "tokenizer", progress=Silent()))
    return (window for window, _ in parts.stream.host_batches(0))
