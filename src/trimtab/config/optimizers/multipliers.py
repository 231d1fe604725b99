"""Learning rates by what a weight is for."""

from typing import Literal

from pydantic import Field

from trimtab.config.settings import Settings

Role = Literal["embedding", "hidden", "output", "vector"]
"""What a weight is for, which is read off its name."""


class LearningRateMultipliers(Settings):
    """What the learning rate is multiplied by for the weights of each role, all through the schedule: muP (arXiv
    2203.03466, table 8) has Adam's rate of hidden matrices fall as 1 / width and keeps the others. Weight decay is a
    share times the rate, so it is multiplied too; it is for hidden matrices alone, so that a `weight_decay` divided by
    `hidden` takes off as much as without. `learning_rate` in metrics.jsonl is the schedule's, without multipliers."""

    embedding: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Tables that are looked up by a number: of tokens, and of learned positions. A matrix that is tied to the output
    is one of these."""
    hidden: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Matrices of the linear maps within the layers, attention and feed-forward blocks."""
    output: float = Field(default=1.0, ge=1e-4, le=1e4)
    """The matrix that scores the vocabulary, where `model.tie_embeddings` leaves it one of its own."""
    vector: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Gains of norms, and biases."""
