"""Lion: the sign of a momentum."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings, check_betas


class Lion(OptimizerSettings):
    """Moves every weight by the same amount, in the direction of the sign of its momentum (arXiv 2302.06675, algorithm
    2); it needs a learning rate 3 to 10 times lower than AdamW and a weight decay that many times higher (section
    5)."""

    kind: Literal["lion"] = "lion"
    learning_rate: float = Field(default=1.0e-4, gt=0, le=10)
    """The peak learning rate, which the schedule scales at each step."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Share of the momentum in the update direction, and decay of the momentum."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers.defaults()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 1
    update_bytes: ClassVar[int] = 24
    is_elementwise: ClassVar[bool] = True
    is_scale_invariant: ClassVar[bool] = True
    has_rates_of_adam: ClassVar[bool] = False
    follows_mup: ClassVar[bool] = True
    steps_by_tensor: ClassVar[bool] = True

    @model_validator(mode="after")
    def _betas_below_one(self) -> "Lion":
        check_betas(self.betas, may_be_zero=True)
        return self
