"""What a recipe makes of the opened data: batches, the stream of steps, the model, the loss."""

import itertools
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from trimtab.config.run import Recipe
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks, resolve_workers
from trimtab.data.mixture import Mixture
from trimtab.tasks.diffusion.batches import Batching, DiffusionGlobalBatch, NoiseSampling, plan_shape
from trimtab.tasks.diffusion.datasets import ImageDatasets, settings_of
from trimtab.tasks.diffusion.losses import NoiseLoss
from trimtab.tasks.diffusion.model import ImageDiffuser
from trimtab.tasks.task import OpenMixture, Untrained
from trimtab.tasks.text.batches import step_size


def plan_batches(
    recipe: Recipe, datasets: ImageDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> Batching:
    """The batches of the run; `packed` gives them one shape, for kernels that are compiled once."""
    model, images = settings_of(recipe)
    return Batching(
        shape=plan_shape(recipe.step, packed=packed, ranks=ranks),
        side=images.size,
        channels=images.num_channels,
        drawn=NoiseSampling(datasets.process, model.class_dropout, datasets.no_class),
        tokens_at=partial(step_size, recipe.step),
        device=device,
    )


def mixture_opener(recipe: Recipe, datasets: ImageDatasets) -> OpenMixture:
    """What opens the endless global batches of a mixture."""

    def open_mixture(
        mixture: Mixture, position: int, step: int
    ) -> Generator[DiffusionGlobalBatch, None, None]:
        feed, workers = replace(datasets.feed, mixture=mixture), resolve_workers(recipe.data)
        made = windows(
            chunks(feed, from_position=position, workers=workers),
            from_position=position,
            tokens_per_step=recipe.step.tokens_per_step,
            max_tokens=1,  # the one target of an example
            examples_per_epoch=mixture.examples_per_epoch,
            sizes=map(partial(step_size, recipe.step), itertools.count(step)),
        )
        for window in made:
            yield DiffusionGlobalBatch.of(window)

    return open_mixture


def unchanged(recipe: Recipe, datasets: ImageDatasets) -> Recipe:
    """No size of a recipe follows from the data."""
    return recipe


def build_diffuser(recipe: Recipe, datasets: ImageDatasets, *, device: torch.device) -> ImageDiffuser:
    """The model with its first weights."""
    return diffuser_of(recipe, num_classes=len(datasets.labels)).to(device)


def diffuser_of(recipe: Recipe, *, num_classes: int) -> ImageDiffuser:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    model, images = settings_of(recipe)
    return ImageDiffuser(
        model, num_classes=num_classes, channels=images.num_channels, side=images.size, seed=recipe.seed
    )


def build_noise_loss(recipe: Recipe, datasets: Any, *, device: torch.device) -> NoiseLoss:
    """The loss of a recipe."""
    return NoiseLoss()


def untrained(datasets: ImageDatasets) -> Untrained:
    """A model that knows nothing predicts 0."""
    expected = datasets.process.untrained_loss(second_moment=datasets.second_moment)
    return Untrained(expected, "that of predicting 0")
