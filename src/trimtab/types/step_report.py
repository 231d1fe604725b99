"""What a loss gives to the step, and the step to the loop."""

from dataclasses import dataclass
from enum import IntEnum

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class LossOutput:
    """A summed loss; only the step knows how many targets the whole window has."""

    objective: Float[Tensor, ""]
    """What is minimised, summed over targets: with smoothing and auxiliary terms. Carries the gradient."""
    loss: Float[Tensor, ""]
    """Nats, summed over targets, without smoothing or auxiliary terms. No gradient."""
    truncated: Float[Tensor, ""] | None = None
    """How many targets were left out of the objective; None where nothing is ever left out."""


class SkipReason(IntEnum):
    """Why a step was not applied."""

    NONE = 0
    NOT_FINITE = 1
    LOSS_SPIKE = 2
    GRADIENT_SPIKE = 3
    OVERFLOW = 4
    """Gradients were too large for fp16 with the loss scale at hand, which then halves: no fault of the run."""
    MASKED = 5
    """The window stands near one that spoilt the run, which went back and leaves it out."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one step did, still on the device; `metrics.jsonl` says the same in plain numbers."""

    loss: Float[Tensor, ""]
    """Nats per target token."""
    objective: Float[Tensor, ""]
    grad_norm: Float[Tensor, ""]
    clipped: Float[Tensor, ""]
    """1 where the gradient was scaled down, else 0."""
    skip_reason: Int[Tensor, ""]
    """Why the verdict was not to move the weights, as a number of `SkipReason`; 0 where they were moved."""
    learning_rate: float
    num_targets: int
    num_tokens: int
    truncated: Float[Tensor, ""] | None = None
    """How many targets were left out of the objective."""

    @property
    def skipped(self) -> Float[Tensor, ""]:
        """1 where the weights were not moved, else 0."""
        return (self.skip_reason > 0).float()
