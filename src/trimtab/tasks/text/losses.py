"""What a model of text is trained on: the loss of each target token, from its output matrix."""

import math

import torch

from trimtab.config.run import Recipe
from trimtab.loss.build import Loss, build_loss
from trimtab.model.kinds import Model
from trimtab.tasks.task import Untrained
from trimtab.tasks.text.datasets import TextDatasets
from trimtab.types import LossOutput, PackedBatch


class TextLoss:
    """Cross-entropy of the next target token, as the recipe asks for it."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.loss.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.loss.truncating = value

    def __call__(self, model: Model, pack: PackedBatch) -> LossOutput:
        """Summed over the targets of a pack."""
        return self.loss(model(pack), model.output_matrix, pack.labels)


def build_text_loss(recipe: Recipe, datasets: TextDatasets, *, device: torch.device) -> TextLoss:
    """The loss of a recipe on the device."""
    return TextLoss(build_loss(recipe.loss, num_ids=datasets.tokenizer.num_ids, device=device))


def untrained(datasets: TextDatasets) -> Untrained:
    """Each token costs a model that knows nothing the logarithm of the vocabulary."""
    return Untrained(math.log(datasets.tokenizer.num_ids), "ln(vocabulary)")
