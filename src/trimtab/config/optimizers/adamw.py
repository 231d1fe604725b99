"""AdamW: decoupled weight decay on a normalised momentum."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.settings import Settings


class AdamW(Settings):
    """AdamW (arXiv 1711.05101), without decay on biases, norms and embeddings."""

    kind: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=5.0e-4, gt=0, le=10)
    """The peak learning rate, which the schedule scales at each step."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of the moving averages of the gradient and of its square."""
    eps: float = Field(default=1.0e-8, gt=0, le=1)
    """Added to the root of the second moment, to avoid division by zero."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 2
    """Minimum number of state tensors per weight, each of the weight's size."""

    @model_validator(mode="after")
    def _betas_below_one(self) -> "AdamW":
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: got {list(self.betas)}; each is at least 0 and below 1")
        return self
