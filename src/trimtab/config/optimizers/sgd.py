"""Stochastic gradient descent with momentum."""

from typing import ClassVar, Literal

from pydantic import Field

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings


class SGD(OptimizerSettings):
    """Stochastic gradient descent with momentum."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: float = Field(default=0.1, gt=0, le=100)
    """The peak learning rate, which the schedule scales at each step."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the momentum."""
    nesterov: bool = False
    """Looks one step ahead along the momentum (Sutskever et al. 2013)."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers.defaults()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 1
    update_bytes: ClassVar[int] = 20
    is_elementwise: ClassVar[bool] = True
    is_scale_invariant: ClassVar[bool] = False
    has_rates_of_adam: ClassVar[bool] = False
    follows_mup: ClassVar[bool] = False
    steps_by_tensor: ClassVar[bool] = True
