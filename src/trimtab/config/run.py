"""The whole recipe: one frozen tree, one branch a stage."""

from typing import Literal

from pydantic import Field, field_validator

from trimtab.config.data import DataConfig
from trimtab.config.guard import GuardConfig
from trimtab.config.loss import LossConfig
from trimtab.config.model import ModelConfig
from trimtab.config.settings import Settings
from trimtab.config.step import StepConfig
from trimtab.units import Duration

Metric = Literal["loss", "bleu", "chrf", "ter"]
LOWER_IS_BETTER = frozenset({"loss", "ter"})


class Best(Settings):
    """Which evaluation chooses the best checkpoint."""

    set: str | None = None
    """Name of a validation set; by default the first."""
    metric: Metric = "chrf"
    """The score that is compared; of `loss` and `ter` the lowest is best."""


class EvaluateConfig(Settings):
    """When and how the validation sets are scored."""

    every: Duration = Duration(500, "steps")
    """How often; there is one at the end in any case."""
    metrics: tuple[Metric, ...] = ("bleu", "chrf")
    """`loss` is always measured; BLEU, chrF and TER translate the validation sets. TER is slow for long lines."""
    beam: int = Field(default=1, ge=1, le=64)
    """Beam size for these translations; 1 is greedy."""
    lines: int | None = Field(default=500, ge=1)
    """Translate at most so many lines of each set, spread evenly; null takes all."""
    samples: int = Field(default=5, ge=0, le=100)
    """Lines of the first set whose translations go to `samples.jsonl`."""
    best: Best = Best()
    """What the best checkpoint is chosen by."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after so many evaluations in a row without a new best."""


class CheckpointConfig(Settings):
    """When the run is saved."""

    every: Duration = Duration(500, "steps")
    """How often; there is one at the end in any case."""
    keep: int = Field(default=3, ge=1)
    """Newest checkpoints kept; the best one is kept besides, and one that the run can go back to (`guard.rewinds`)."""


class Recipe(Settings):
    """The whole run."""

    task: Literal["translation"] = "translation"
    """What is learned."""
    data: DataConfig
    """What is read, and how text becomes ids."""
    model: ModelConfig
    """The shape of the model."""
    loss: LossConfig = LossConfig()
    """What is minimised."""
    step: StepConfig = StepConfig()
    """How one update is made."""
    guard: GuardConfig = GuardConfig()
    """Which steps are refused, and what happens where many are."""
    length: Duration
    """How long to train."""
    evaluate: EvaluateConfig = EvaluateConfig()
    """When and how the validation sets are scored."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """When the run is saved."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Of the first weights, the order of examples, dropout and everything else that is drawn."""

    @field_validator("length", mode="after")
    @classmethod
    def _at_least_a_step(cls, value: Duration) -> Duration:
        if value.unit == "steps" and value.count < 1:
            raise ValueError(f"got {value}; at least one step is needed")
        return value
