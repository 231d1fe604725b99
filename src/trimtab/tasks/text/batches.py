"""Packs of a run on text: their shape, how many a step has, and the stream that they are cut from."""

import itertools
from collections.abc import Generator
from dataclasses import replace
from functools import partial

import torch

from trimtab.choices import shape_for
from trimtab.config.run import Recipe
from trimtab.config.step import StepConfig
from trimtab.data.fitting_vocabulary import with_sizes
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks, resolve_workers
from trimtab.data.mixture import Mixture
from trimtab.data.packing import Packing
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.step.batch_warmup import tokens_at
from trimtab.tasks.task import OpenMixture
from trimtab.tasks.text.datasets import TextDatasets


def plan_batches(
    recipe: Recipe, datasets: TextDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> Packing:
    """The packs of the run; `packed` gives them one shape, for kernels that are compiled once."""
    return Packing(
        shape=shape_for(
            recipe,
            datasets.lengths,
            packed=packed,
            slots_per_target=datasets.slots_per_target,
            ranks=ranks,
        ),
        symbols=datasets.tokenizers.symbols,
        tokens_per_step=recipe.step.tokens_per_step,
        tokens_at=partial(step_size, recipe.step),
        device=device,
    )


def with_vocabulary_sizes(recipe: Recipe, datasets: TextDatasets) -> Recipe:
    """The recipe with the sizes that its vocabularies came out with."""
    tokenizers = datasets.tokenizers
    data = with_sizes(recipe.data, source=tokenizers.source, target=tokenizers.target)
    return recipe.model_copy(update={"data": data})


def mixture_opener(recipe: Recipe, datasets: TextDatasets) -> OpenMixture:
    """What opens the endless global batches of a mixture."""

    def open_mixture(mixture: Mixture, position: int, step: int) -> Generator[TextGlobalBatch, None, None]:
        feed, workers = replace(datasets.feed, mixture=mixture), resolve_workers(recipe.data)
        return windows(
            chunks(feed, from_position=position, workers=workers),
            from_position=position,
            tokens_per_step=recipe.step.tokens_per_step,
            max_tokens=recipe.data.max_tokens,
            examples_per_epoch=mixture.examples_per_epoch,
            sizes=map(partial(step_size, recipe.step), itertools.count(step)),
        )

    return open_mixture


def step_size(config: StepConfig, step: int) -> int:
    """Target tokens that the global batch of a step may hold."""
    return tokens_at(config.batch_warmup, step=step, full=config.tokens_per_step)
