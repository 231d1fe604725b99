"""What a recipe makes of the opened data: batches, the stream of steps, the model, the loss."""

from functools import partial
from typing import Any

import torch

from trimtab.config.run import Recipe
from trimtab.tasks.diffusion.batches import Batching, NoiseSampling
from trimtab.tasks.diffusion.datasets import ImageDatasets, settings_of
from trimtab.tasks.diffusion.latents import Latents
from trimtab.tasks.diffusion.losses import NoiseLoss
from trimtab.tasks.diffusion.model import ImageDiffuser
from trimtab.tasks.images.square_batches import plan_shape
from trimtab.tasks.stream import step_size
from trimtab.tasks.task import Untrained


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


def build_diffuser(recipe: Recipe, datasets: ImageDatasets, *, device: torch.device) -> ImageDiffuser:
    """The model with its first weights."""
    return diffuser_of(recipe, num_classes=len(datasets.labels), latents=datasets.latents).to(device)


def diffuser_of(recipe: Recipe, *, num_classes: int, latents: Latents | None) -> ImageDiffuser:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    model, images = settings_of(recipe)
    canvas = (images.num_channels, images.size)
    return ImageDiffuser(model, num_classes=num_classes, canvas=canvas, latents=latents, seed=recipe.seed)


def build_noise_loss(recipe: Recipe, datasets: Any, *, device: torch.device) -> NoiseLoss:
    """The loss of a recipe."""
    return NoiseLoss()


def untrained(datasets: ImageDatasets) -> Untrained:
    """A model that knows nothing predicts 0."""
    expected = datasets.process.untrained_loss(second_moment=datasets.second_moment)
    return Untrained(expected, "that of predicting 0")
