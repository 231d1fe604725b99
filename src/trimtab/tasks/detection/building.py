"""What a recipe makes of the opened data: batches, the stream of steps, the model, the loss."""

import itertools
import math
from collections.abc import Generator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import torch

from trimtab.config.detector_model import DetectorModel
from trimtab.config.run import Recipe
from trimtab.data.global_batches import windows
from trimtab.data.loader import chunks, resolve_workers
from trimtab.data.mixture import Mixture
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.detection.batches import Batching, BoxGlobalBatch, plan_shape
from trimtab.tasks.detection.categories import Categories
from trimtab.tasks.detection.datasets import BoxDatasets
from trimtab.tasks.detection.losses import DetectionLoss
from trimtab.tasks.detection.model import Detector
from trimtab.tasks.task import OpenMixture, Untrained
from trimtab.tasks.text.batches import step_size


def plan_batches(
    recipe: Recipe, datasets: BoxDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> Batching:
    """The batches of the run."""
    shape = plan_shape(recipe.step, ranks=ranks)
    return Batching(shape=shape, tokens_at=partial(step_size, recipe.step), device=device)


def mixture_opener(recipe: Recipe, datasets: BoxDatasets) -> OpenMixture:
    """What opens the endless global batches of a mixture, each of so many images."""

    def open_mixture(mixture: Mixture, position: int, step: int) -> Generator[TextGlobalBatch, None, None]:
        feed, workers = replace(datasets.feed, mixture=mixture), resolve_workers(recipe.data)
        found = chunks(feed, from_position=position, workers=workers)
        made = windows(
            found,
            from_position=position,
            tokens_per_step=recipe.step.tokens_per_step,
            max_tokens=1,  # the one place that an image takes in a step
            examples_per_epoch=mixture.examples_per_epoch,
            sizes=map(partial(step_size, recipe.step), itertools.count(step)),
        )
        for window in made:
            yield BoxGlobalBatch(
                **{each.name: getattr(window, each.name) for each in fields(TextGlobalBatch)}
            )

    return open_mixture


def unchanged(recipe: Recipe, datasets: BoxDatasets) -> Recipe:
    """No size of a recipe follows from the data."""
    return recipe


def model_of(recipe: Recipe) -> DetectorModel:
    """The settings of the model."""
    assert isinstance(recipe.model, DetectorModel), "other kinds are refused with the recipe"
    return recipe.model


def build_detector(recipe: Recipe, datasets: BoxDatasets, *, device: torch.device) -> Detector:
    """The model with its first weights, sized by the categories."""
    return detector_of(recipe, datasets.categories).to(device)


def detector_of(recipe: Recipe, categories: Categories) -> Detector:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    return Detector(model_of(recipe), num_labels=len(categories), seed=recipe.seed)


def build_detection_loss(recipe: Recipe, datasets: Any, *, device: torch.device) -> DetectionLoss:
    """The loss of a recipe."""
    assert recipe.loss.boxes is not None, "the task has defaults for it"
    return DetectionLoss(recipe.loss.boxes, model_of(recipe))


def untrained(datasets: BoxDatasets) -> Untrained:
    """Not known beforehand: how far boxes are from where an untrained model puts them follows from the images. Any
    finite loss is within the bounds of an infinite one."""
    return Untrained(math.inf, "that of a model that knows nothing")
