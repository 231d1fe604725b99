"""Overfits one window: in seconds it shows that data, model, loss and step belong together."""

import tempfile
from pathlib import Path

import torch

from trimtab.build import build
from trimtab.config.run import Recipe
from trimtab.config.step import LearningRateMultipliers, Optimizer
from trimtab.errors import RunFailed
from trimtab.progress import Progress
from trimtab.sources import open_sources
from trimtab.step.take_step import take_step

LEAST_STEPS, MOST_STEPS = 60, 600
"""A small model at a small rate needs more than a large one; it is given them while the loss has not halved."""
FALLS_TO = 0.5
"""The loss must fall to this share of where it began."""
MOST_TARGETS = 2048
LEAST_RATE = 1e-3
"""Rates that suit thousands of steps learn too little in so few."""


def overfit(recipe: Recipe, *, progress: Progress) -> float:
    """Trains on the first examples again and again, dropout and smoothing off; gives the last loss.

    Raises RunFailed where the loss does not halve. Nothing is written but the cache of the corpora.
    """
    recipe = small(recipe)
    with tempfile.TemporaryDirectory() as folder:
        sources = open_sources(recipe, tokenizer_folder=Path(folder) / "tokenizer", progress=progress)
        parts = build(recipe, sources)
        _, packs = next(iter(parts.windows(0)))
        parts.model.train()
        losses: list[float] = []
        for step in range(MOST_STEPS):
            report = take_step(
                parts.objective,
                parts.optimizer,
                packs,
                clip=parts.clip,
                scale=parts.scale,
                learning_rate=recipe.step.optimizer.learning_rate * min(1.0, (step + 1) / 10),
            )
            losses.append(float(report.loss))
            last = step + 1 >= LEAST_STEPS and losses[-1] < FALLS_TO * losses[0]
            if step % 20 == 0 or last:
                progress.message(f"smoke step {step + 1}: loss {losses[-1]:.3f}")
            if last or not torch.isfinite(report.loss):
                break
    if not losses[-1] < FALLS_TO * losses[0]:
        raise RunFailed(
            f"one window could not be learned by heart: the loss went from {losses[0]:.3f} to {losses[-1]:.3f} in "
            f"{len(losses)} steps\n  fix     look at the learning rate, then whether source and target are aligned"
        )
    return losses[-1]


def raised(optimizer: Optimizer, *, rate: float) -> LearningRateMultipliers:
    """The multipliers beside this rate, none so low that the rate of its weights is below LEAST_RATE."""
    multipliers = optimizer.learning_rate_multipliers
    least = min(1.0, LEAST_RATE / rate)
    return multipliers.model_copy(update={role: max(least, each) for role, each in multipliers})


def small(recipe: Recipe) -> Recipe:
    """The recipe with one small window, no dropout, no smoothing, no compiling."""
    tokens = max(recipe.data.max_tokens, min(MOST_TARGETS, recipe.step.tokens_per_step))
    chosen = {"tokens_per_step": tokens, "tokens_per_micro_batch": tokens, "compile": "off"}
    rate = max(recipe.step.optimizer.learning_rate, LEAST_RATE)
    chosen["optimizer"] = recipe.step.optimizer.model_copy(
        update={"learning_rate": rate, "learning_rate_multipliers": raised(recipe.step.optimizer, rate=rate)}
    )
    return recipe.model_copy(
        update={
            "step": recipe.step.model_copy(update=chosen),
            "loss": recipe.loss.model_copy(update={"label_smoothing": 0.0}),
            "model": recipe.model.model_copy(update={"dropout": 0.0}),
        }
    )
