"""Lion: the sign of a momentum."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.settings import Settings


class Lion(Settings):
    """Moves every weight by the same amount, in the sign of its momentum (arXiv 2302.06675, algorithm 2); wants a rate
    3 to 10 times lower than AdamW's and a decay as many times higher (section 5)."""

    kind: Literal["lion"] = "lion"
    learning_rate: float = Field(default=1.0e-4, gt=0, le=10)
    """The peak rate; the schedule says which share of it holds at a step."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Share of the momentum in the sign that is stepped along, and decay of the momentum."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers()
    """Other rates for embeddings, hidden matrices, the output or vectors; by default all have one."""
    moments: ClassVar[int] = 1
    """How many tensors of the size of each weight it keeps, at least."""

    @model_validator(mode="after")
    def _betas_below_one(self) -> "Lion":
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: got {list(self.betas)}; each is at least 0 and below 1")
        return self
