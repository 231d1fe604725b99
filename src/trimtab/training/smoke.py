"""Overfits one batch to check the whole pipeline in seconds."""

import tempfile
import time
from pathlib import Path
from typing import get_args

import torch

from trimtab.build import build
from trimtab.config.optimizers import LearningRateMultipliers, Optimizer, Role
from trimtab.config.run import Recipe
from trimtab.device import choose_device
from trimtab.errors import RunFailed
from trimtab.progress import Progress
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.training.first_weights import begin_from_weights

LEAST_STEPS, MOST_STEPS = 60, 600
"""A small model at a small rate needs more than a large one; it is given them while the loss has not halved."""
FALLS_TO = 0.5
"""The loss must fall to this share of where it began."""
MOST_TARGETS = {"cuda": 2048, "cpu": 512}
"""Target tokens of the window, unless an example may be longer. The small preset with 16,000 pieces takes five seconds
for a step of 2048 on one core of a CPU."""
LEAST_RATE = 1e-3
"""Rates that suit thousands of steps learn too little in so few."""


def overfit(recipe: Recipe, *, progress: Progress) -> float:
    """Trains on the first examples again and again, dropout and smoothing off; gives the last loss.

    Raises RunFailed if the loss does not halve. Nothing is written but the cache of the corpora.
    """
    recipe = overfit_recipe(recipe, most=MOST_TARGETS[choose_device().type])
    with tempfile.TemporaryDirectory() as folder:
        datasets = open_datasets(recipe, tokenizer_folder=Path(folder) / "tokenizer", progress=progress)
        parts = build(recipe, datasets)
        begin_from_weights(parts, progress=progress)
        window, packs = next(iter(parts.stream.batches(0)))
        progress.message(
            f"overfitting {window.num_targets:,} {recipe.facts.targets}: {LEAST_STEPS} steps, at most {MOST_STEPS}"
        )
        parts.model.train()
        losses: list[float] = []
        ended: list[float] = []
        for step in range(MOST_STEPS):
            report = take_step(
                parts.stepper.objective,
                parts.stepper.optimizer,
                packs,
                clip=parts.stepper.clip,
                scale=parts.stepper.scale,
                learning_rate=recipe.step.optimizer.learning_rate * min(1.0, (step + 1) / 10),
            )
            losses.append(float(report.loss))
            ended.append(time.monotonic())
            if step + 1 >= LEAST_STEPS and losses[-1] < FALLS_TO * losses[0]:
                progress.message(f"smoke step {step + 1}: loss {losses[-1]:.3f}")
                break
            tell(progress, losses[-1], ended)
            if not torch.isfinite(report.loss):
                break
    if not losses[-1] < FALLS_TO * losses[0]:
        raise RunFailed(
            f"the model could not overfit one batch: the loss went from {losses[0]:.3f} to {losses[-1]:.3f} in "
            f"{len(losses)} steps\n  fix     check the learning rate, then whether {recipe.facts.mismatch}"
        )
    return losses[-1]


def tell(progress: Progress, loss: float, ended: list[float]) -> None:
    """How far it is after the last of the steps that ended at these seconds, and how long the rest will take; once the
    usual number of steps is over, how long it will take at most."""
    done = len(ended)
    whole = LEAST_STEPS if done < LEAST_STEPS else MOST_STEPS
    # The first step also makes ready what the others find made.
    left = (ended[-1] - ended[0]) / (done - 1) * (whole - done) if done > 1 else None
    progress.step({"step": done, "loss": loss}, share=done / whole, seconds_left=left)


def raise_multipliers(optimizer: Optimizer, *, rate: float) -> LearningRateMultipliers:
    """The multipliers beside this rate, none so low that the rate of its weights is below LEAST_RATE."""
    multipliers = optimizer.learning_rate_multipliers
    least = min(1.0, LEAST_RATE / rate)
    update: dict[str, object] = {role: max(least, getattr(multipliers, role)) for role in get_args(Role)}
    update["names"] = {pattern: max(least, each) for pattern, each in multipliers.names.items()}
    return multipliers.model_copy(update=update)


def overfit_recipe(recipe: Recipe, *, most: int) -> Recipe:
    """The recipe with one window of at most so many targets (more where an example may be longer), no dropout, no
    skipped sub-layers, no smoothing, no compiling."""
    longest = recipe.facts.targets_of_longest(recipe.data.max_tokens)
    tokens = max(longest, min(most, recipe.step.tokens_per_step))
    chosen = {"tokens_per_step": tokens, "tokens_per_micro_batch": tokens, "compile": "off"}
    chosen["stochastic_depth"] = None
    rate = max(recipe.step.optimizer.learning_rate, LEAST_RATE)
    chosen["optimizer"] = recipe.step.optimizer.model_copy(
        update={
            "learning_rate": rate,
            "learning_rate_multipliers": raise_multipliers(recipe.step.optimizer, rate=rate),
        }
    )
    return recipe.model_copy(
        update={
            "step": recipe.step.model_copy(update=chosen),
            "loss": recipe.loss.model_copy(update={"label_smoothing": 0.0}),
            "model": recipe.model.model_copy(update={"dropout": 0.0}),
        }
    )
