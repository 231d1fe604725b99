"""What a loss gives to the step, and the step to the loop."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

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
    """How many targets were left out of the objective; None if nothing is ever left out."""


class SkipReason(IntEnum):
    """Why a step was not applied."""

    NONE = 0
    NOT_FINITE = 1
    LOSS_SPIKE = 2
    GRADIENT_SPIKE = 3
    OVERFLOW = 4
    """Gradients were too large for fp16 with the loss scale at hand, which then halves: no fault of the run."""
    MASKED = 5
    """The window stands near one that damaged the run, which went back and leaves it out."""


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
    clip_details: Float[Tensor, "numbers"] | None = None
    """What a clip has to tell besides; its `named` says what the numbers are."""

    @property
    def skipped(self) -> Float[Tensor, ""]:
        """1 where the weights were not moved, else 0."""
        return (self.skip_reason > 0).float()


@dataclass(slots=True)
class TrainState:
    """Where a run is, in plain numbers; together with weights and moments it is all that resume needs."""

    step: int = 0
    """Windows consumed, skipped ones too."""
    updates: int = 0
    """Changes of the weights."""
    position: int = 0
    """Where in the endless stream of examples the next window begins."""
    target_tokens: int = 0
    tokens: int = 0
    """Real source and target tokens consumed."""
    seconds: float = 0.0
    """Time spent training, over all parts of an interrupted run."""
    clips: int = 0
    skips: int = 0
    best: dict[str, Any] = field(default_factory=dict)
    """`{set, metric, value, step, since}`: the best evaluation so far, and how many since then count for the patience;
    `moved` once the metric has, and under `stop_on` the same of each metric that `evaluate.stop_on` names."""
    evaluated: int = 0
    """The step of the newest evaluation."""
    data: dict[str, Any] = field(default_factory=dict)
    """The data ledger's counts up to `position`."""
    guard: dict[str, Any] = field(default_factory=dict)
    """What the step keeps besides the optimizer's moments, such as a loss scale; and what was refused and left out."""
    origin: dict[str, float] = field(default_factory=dict[str, float])
    """Where schedule and length count from, and when anything was reset last (`--reset`); empty where nothing was.

    `step`, `target_tokens`, `seconds` and `epochs` are what the run had behind it there, `reset_at` is the step."""
