"""What a classifier is trained on: the cross-entropy of each label."""

import math

import torch

from trimtab.config.run import Recipe
from trimtab.loss.build import build_loss
from trimtab.tasks.classification.datasets import Labelled
from trimtab.tasks.task import Untrained
from trimtab.tasks.text.losses import OutputMatrixLoss


def build_label_loss(recipe: Recipe, datasets: Labelled, *, device: torch.device) -> OutputMatrixLoss:
    """The loss of a recipe on the device."""
    return OutputMatrixLoss(build_loss(recipe.loss, num_ids=len(datasets.labels), device=device))


def untrained(datasets: Labelled) -> Untrained:
    """Each example costs a model that knows nothing the logarithm of the number of labels."""
    return Untrained(math.log(len(datasets.labels)), "ln(labels)")
