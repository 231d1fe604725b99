"""AdEMAMix: AdamW with a second, much slower momentum."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings, check_betas


class AdEMAMix(OptimizerSettings):
    """AdamW with a second momentum that averages over some ten thousand gradients (arXiv 2409.03137, algorithm 1), for
    long runs in which old gradients remain useful. Its state is half as large again as that of AdamW."""

    kind: Literal["ademamix"] = "ademamix"
    learning_rate: float = Field(default=5.0e-4, gt=0, le=10)
    """The peak learning rate, which the schedule scales at each step."""
    betas: tuple[float, float, float] = (0.9, 0.999, 0.9999)
    """Decay of the fast momentum, of the mean square of the gradient, and of the slow momentum."""
    alpha: float = Field(default=8.0, ge=0, le=100)
    """Weight of the slow momentum relative to the fast one; the paper uses 4 to 10 (section 3)."""
    mixing_warmup_steps: int = Field(default=10000, ge=1)
    """Updates over which alpha rises from 0 and the slow momentum's decay from that of the fast one; the paper uses the
    whole run. With the final values from the start, training may diverge early (section 3)."""
    eps: float = Field(default=1.0e-8, gt=0, le=1)
    """Added to the root of the second moment, to avoid division by zero."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers.defaults()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 3
    update_bytes: ClassVar[int] = 44
    is_elementwise: ClassVar[bool] = True
    is_scale_invariant: ClassVar[bool] = True
    has_rates_of_adam: ClassVar[bool] = True
    follows_mup: ClassVar[bool] = True
    steps_by_tensor: ClassVar[bool] = False

    @model_validator(mode="after")
    def _betas_between_zero_and_one(self) -> "AdEMAMix":
        check_betas(self.betas, may_be_zero=False)
        return self
