"""Muon: momentum made orthogonal, for matrices; AdamW for everything else."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings, check_betas


class Muon(OptimizerSettings):
    """Momentum whose singular values are all made about equal, for the matrices of linear layers (Jordan et al. 2024,
    kellerjordan.github.io/posts/muon); embeddings, the output, norms and biases are updated by AdamW. Updates of a
    matrix are scaled to the size of AdamW's, so that its learning rates suit (arXiv 2502.16982, section 2.2)."""

    kind: Literal["muon"] = "muon"
    learning_rate: float = Field(default=1.0e-3, gt=0, le=10)
    """The peak learning rate of all weights, which the schedule scales at each step."""
    momentum: float = Field(default=0.95, ge=0, lt=1)
    """Decay of the momentum of a matrix."""
    nesterov: bool = True
    """Looks one step ahead along the momentum."""
    iterations: int = Field(default=5, ge=1, le=20)
    """Newton-Schulz iterations that make the momentum orthogonal."""
    betas: tuple[float, float] = (0.9, 0.98)
    """For the weights that AdamW updates: decay of the mean and of the mean square of the gradient."""
    eps: float = Field(default=1.0e-8, gt=0, le=1)
    """For the weights that AdamW updates: added to the root of the second moment."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers.defaults()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 1
    update_bytes: ClassVar[int] = 40
    is_elementwise: ClassVar[bool] = False
    is_scale_invariant: ClassVar[bool] = True
    has_rates_of_adam: ClassVar[bool] = True
    follows_mup: ClassVar[bool] = False
    steps_by_tensor: ClassVar[bool] = False

    @model_validator(mode="after")
    def _betas_between_zero_and_one(self) -> "Muon":
        check_betas(self.betas, may_be_zero=False)
        return self
