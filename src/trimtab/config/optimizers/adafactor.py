"""Adafactor: second moments by rows and columns."""

from typing import ClassVar, Literal

from pydantic import Field

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings


class Adafactor(OptimizerSettings):
    """Adafactor (arXiv 1804.04235) with an external learning rate: factored second moments, no first moment."""

    kind: Literal["adafactor"] = "adafactor"
    learning_rate: float = Field(default=1.0e-3, gt=0, le=10)
    """The peak learning rate, which the schedule scales at each step."""
    clip_update: float = Field(default=1.0, gt=0)
    """Updates with a larger root mean square are scaled down to this (section 6)."""
    decay_exponent: float = Field(default=0.8, gt=0, lt=1)
    """The second moment's decay at step t is 1 - t^(-decay_exponent) (section 7.2)."""
    eps: float = Field(default=1.0e-30, gt=0)
    """Added to the squared gradient."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers.defaults()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 0
    update_bytes: ClassVar[int] = 28
    is_elementwise: ClassVar[bool] = False
    is_scale_invariant: ClassVar[bool] = True
    has_rates_of_adam: ClassVar[bool] = True
    follows_mup: ClassVar[bool] = False
    steps_by_tensor: ClassVar[bool] = False
