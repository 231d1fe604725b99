"""AdamW: decoupled weight decay on a normalised momentum."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers.multipliers import LearningRateMultipliers
from trimtab.config.optimizers.optimizer_settings import OptimizerSettings, check_betas


class AdamW(OptimizerSettings):
    """AdamW (arXiv 1711.05101), without decay on biases, norms and embeddings."""

    kind: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=5.0e-4, gt=0, le=10)
    """The peak learning rate, which the schedule scales at each step."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of the moving averages of the gradient and of its square."""
    eps: float = Field(default=1.0e-8, gt=0, le=1)
    """Added to the root of the second moment, to avoid division by zero."""
    states: Literal["float32", "bfloat16", "8bit", "4bit"] = "float32"
    """Precision of both moments: 8, 4, about 2 or about 1 bytes per weight. Below float32 they are rounded
    stochastically; `8bit` and `4bit` scale blocks of 128 numbers by their largest (arXiv 2110.02861, section 2), and
    tensors of less than 4,096 numbers, such as norms and biases, keep float32."""
    weights: Literal["as_stored", "24bit"] = "as_stored"
    """With `precision: bf16`, `24bit` keeps 8 more bits of each weight beside it, one byte, so that updates are rounded
    256 times finer (as FlashOptim, arXiv 2602.23349). The model computes with the upper 16 bits either way."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Weight decay: this times the learning rate is the share of a weight removed at each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers.defaults()
    """Different learning rates for embeddings, hidden matrices, the output or vectors; by default all are equal."""
    moments: ClassVar[int] = 2
    update_bytes: ClassVar[int] = 0
    is_elementwise: ClassVar[bool] = True
    is_scale_invariant: ClassVar[bool] = True
    has_rates_of_adam: ClassVar[bool] = True
    follows_mup: ClassVar[bool] = True
    steps_by_tensor: ClassVar[bool] = True

    @model_validator(mode="after")
    def _betas_below_one(self) -> "AdamW":
        check_betas(self.betas, may_be_zero=True)
        return self


class StableAdamW(AdamW):
    """AdamW that lowers the learning rate of a tensor while its second moment lags behind the gradients: Adafactor's
    update clipping in AdamW (arXiv 2304.13013, algorithm 2)."""

    kind: Literal["stable_adamw"] = "stable_adamw"  # type: ignore[assignment]
    update_bytes: ClassVar[int] = 36
    is_elementwise: ClassVar[bool] = False
    steps_by_tensor: ClassVar[bool] = False
