"""What a model that has an output matrix is trained on: the loss of each label by it, a token or a class."""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from trimtab.config.run import Recipe
from trimtab.loss.build import Loss, build_loss
from trimtab.model.transformer import Transformer
from trimtab.tasks.task import Untrained
from trimtab.tasks.text.datasets import TextDatasets
from trimtab.types import LossOutput


@runtime_checkable
class Labelled(Protocol):
    """A micro-batch of which each vector that the model gives has a label."""

    @property
    def labels(self) -> Int[Tensor, "targets"]:
        """Numbers of rows of the output matrix; IGNORE where none counts."""
        ...


class OutputMatrixLoss:
    """Cross-entropy of each label of a batch, as the recipe asks for it; see `tasks.task.ComputesLoss`."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @property
    def truncating(self) -> bool:
        """Whether the labels with the largest errors are left out."""
        return self.loss.truncating

    @truncating.setter
    def truncating(self, value: bool) -> None:
        self.loss.truncating = value

    def __call__(self, model: Transformer, batch: Labelled) -> LossOutput:
        """Summed over the targets of a batch."""
        return self.loss(model(batch), model.output_matrix, batch.labels)


def build_text_loss(recipe: Recipe, datasets: TextDatasets, *, device: torch.device) -> OutputMatrixLoss:
    """The loss of a recipe on the device."""
    return OutputMatrixLoss(build_loss(recipe.loss, num_ids=datasets.tokenizer.num_ids, device=device))


def untrained(datasets: TextDatasets) -> Untrained:
    """Each token costs a model that knows nothing the logarithm of the vocabulary."""
    return Untrained(math.log(datasets.tokenizer.num_ids), "ln(vocabulary)")
