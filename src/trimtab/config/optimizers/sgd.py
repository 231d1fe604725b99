"""Stochastic gradient descent with momentum."""

from typing import ClassVar, Literal

from pydantic import Field

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.settings import Settings


class SGD(Settings):
    """Stochastic gradient descent with momentum."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: float = Field(default=0.1, gt=0, le=100)
    """The peak rate; the schedule says which share of it holds at a step."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the sum of gradients that is stepped along."""
    nesterov: bool = False
    """Looks one step ahead along the momentum (Sutskever et al. 2013)."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers()
    """Other rates for embeddings, hidden matrices, the output or vectors; by default all have one."""
    moments: ClassVar[int] = 1
    """How many tensors of the size of each weight it keeps, at least."""
