"""The model that is scored: the one in training, or a copy of it with averaged weights or in half precision."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(slots=True)
class EvaluationModel:
    """Makes the model of an evaluation from the one in training."""

    model: Any
    averaged: Callable[[Any], Any] | None = None
    """Gives a copy with the averaged weights, where the recipe evaluates these."""
    dtype: torch.dtype | None = None
    """Half precision, in which decoding on a GPU is several times faster; None where the weights stay as they are."""

    def copy(self) -> Any:
        """The model to score now; the very model in training where neither applies."""
        model = self.model if self.averaged is None else self.averaged(self.model)
        return model if self.dtype is None else model.half_precision_copy(self.dtype)
