"""What a classifier is trained on: the cross-entropy of each label."""

import math

import torch

from trimtab.config.run import Recipe
from trimtab.loss.build import Loss, build_loss
from trimtab.tasks.classification.batches import LabelledBatch
from trimtab.tasks.classification.datasets import Labelled
from trimtab.tasks.classification.model import SequenceClassifier
from trimtab.tasks.task import Untrained
from trimtab.types import LossOutput


class LabelLoss:
    """Cross-entropy over the labels, as the recipe asks for it; see `tasks.task.ComputesLoss`."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.loss.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.loss.truncating = value

    def __call__(self, model: SequenceClassifier, batch: LabelledBatch) -> LossOutput:
        """Summed over the examples of a batch."""
        return self.loss(model(batch), model.output_matrix, batch.labels)


def build_label_loss(recipe: Recipe, datasets: Labelled, *, device: torch.device) -> LabelLoss:
    """The loss of a recipe on the device."""
    return LabelLoss(build_loss(recipe.loss, num_ids=len(datasets.labels), device=device))


def untrained(datasets: Labelled) -> Untrained:
    """Each example costs a model that knows nothing the logarithm of the number of labels."""
    return Untrained(math.log(len(datasets.labels)), "ln(labels)")
