"""What a recipe makes of the opened data: batches, the stream of steps, the model, the loss."""

from functools import partial
from typing import Any

import torch

from trimtab.config.detector_model import DetectorModel
from trimtab.config.run import Recipe
from trimtab.tasks.detection.batches import Batching, BoxGlobalBatch, plan_shape
from trimtab.tasks.detection.categories import Categories
from trimtab.tasks.detection.datasets import BoxDatasets
from trimtab.tasks.detection.losses import DetectionLoss
from trimtab.tasks.detection.model import Detector
from trimtab.tasks.stream import mixture_opener, step_size
from trimtab.tasks.task import OpenMixture


def plan_batches(
    recipe: Recipe, datasets: BoxDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> Batching:
    """The batches of the run."""
    shape = plan_shape(recipe.step, ranks=ranks)
    return Batching(shape=shape, tokens_at=partial(step_size, recipe.step), device=device)


def open_mixtures(recipe: Recipe, datasets: BoxDatasets) -> OpenMixture:
    """See `Task.open_mixture`."""
    return mixture_opener(recipe, datasets.feed, batch=BoxGlobalBatch, max_targets=1)


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
