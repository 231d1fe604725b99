"""The stream of global batches, and how a step is divided into micro-batches, as far as every task does it so."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

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


@dataclass(slots=True)
class CutsSteps(ABC):
    """The part of a task's `Batching` that is the same for batches of any kind."""

    shape: Any
    """How large batches are; its `num_batches` says how many a whole step has."""
    tokens_at: Callable[[int], int]
    """Targets that the global batch of a step may hold."""
    device: torch.device
    """Where whole sets are put."""

    @abstractmethod
    def cut(self, window: Any) -> Sequence[Any]:
        """A global batch in batches of the run's shape, in host memory."""

    @property
    def num_batches(self) -> int:
        """Batches of a whole step."""
        return self.shape.num_batches

    @property
    def in_order(self) -> bool:
        """See `Batching.in_order`: every micro-batch uses all weights."""
        return False

    def cut_at(self, window: Any, step: int) -> Sequence[Any]:
        """The global batch of a step in batches, in host memory; they are cut alike in all steps."""
        return self.cut(window)


def divided(step: StepConfig, *, ranks: int) -> tuple[int, int]:
    """Micro-batches of a whole step, a multiple of `ranks`, and of what `tokens_per_step` counts how many each of them
    takes."""
    num_batches = rounded_up(-(-step.tokens_per_step // step.micro_batch_tokens), ranks)
    return num_batches, -(-step.tokens_per_step // num_batches)


def rounded_up(number: int, multiple: int) -> int:
    """The next multiple."""
    return -(-number // multiple) * multiple
