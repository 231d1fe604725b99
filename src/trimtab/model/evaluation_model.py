"""The model that is scored: the one in training, or a copy of it with averaged weights or in half precision."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from trimtab.model.kinds import Model


@dataclass(slots=True)
class EvaluationModel:
    """Makes the model of an evaluation from the one in training."""

    model: Model
    averaged: Callable[[Model], Model] | None = None
    """Gives a copy with the averaged weights, where the recipe evaluates these."""
    dtype: torch.dtype | None = None
    """Half precision, in which decoding on a GPU is several times faster; None where the weights stay as they are."""

    def copy(self) -> Model:
        """The model to score now; the very model in training where neither applies."""
        model = self.model if self.averaged is None else self.averaged(self.model)
        return model if self.dtype is None else model.half_precision_copy(self.dtype)
