"""The stream of global batches, and how a step is divided into micro-batches, as far as every task does it so."""

import itertools
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks, resolve_workers
from trimtab.data.mixture import Mixture
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.step.batch_warmup import tokens_at
from trimtab.tasks.task import OpenMixture


def mixture_opener(
    recipe: Recipe, feed: Any, *, batch: type[TextGlobalBatch], max_targets: int
) -> OpenMixture:
    """What opens the endless global batches of a mixture, each a `batch`; no example has more than `max_targets` of
    what `step.tokens_per_step` counts. `feed` is a dataclass that makes chunks (`data.chunk.MakesChunks`)."""

    def open_mixture(mixture: Mixture, position: int, step: int) -> Generator[TextGlobalBatch, None, None]:
        found = windows(
            chunks(
                replace(feed, mixture=mixture), from_position=position, workers=resolve_workers(recipe.data)
            ),
            from_position=position,
            tokens_per_step=recipe.step.tokens_per_step,
            max_tokens=max_targets,
            examples_per_epoch=mixture.examples_per_epoch,
            sizes=map(partial(step_size, recipe.step), itertools.count(step)),
        )
        for window in found:
            yield batch.of(window)

    return open_mixture


def step_size(config: StepConfig, step: int) -> int:
    """Targets that the global batch of a step may hold."""
    return tokens_at(config.batch_warmup, step=step, full=config.tokens_per_step)


def divided(step: StepConfig, *, ranks: int) -> tuple[int, int]:
    """Micro-batches of a whole step, a multiple of `ranks`, and of what `tokens_per_step` counts how many each of them
    takes."""
    num_batches = rounded_up(-(-step.tokens_per_step // step.micro_batch_tokens), ranks)
    return num_batches, -(-step.tokens_per_step // num_batches)


def rounded_up(number: int, multiple: int) -> int:
    """The next multiple."""
    return -(-number // multiple) * multiple
