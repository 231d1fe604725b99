"""How a gradient becomes an update: one class for each optimizer."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

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


class AdamW(Settings):
    """AdamW (arXiv 1711.05101); decay is not applied to biases, norms and embeddings."""

    kind: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=5.0e-4, gt=0, le=10)
    """The peak rate; the schedule says which share of it holds at a step."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of the moving averages of the gradient and of its square."""
    eps: float = Field(default=1.0e-8, gt=0, le=1)
    """Added to the root of the second moment, so that nothing is divided by zero."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers()
    """Other rates for embeddings, hidden matrices, the output or vectors; by default all have one."""

    @model_validator(mode="after")
    def _betas_below_one(self) -> "AdamW":
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: got {list(self.betas)}; each is at least 0 and below 1")
        return self


class Adafactor(Settings):
    """Adafactor (arXiv 1804.04235) with an external learning rate: factored second moments, no first moment."""

    kind: Literal["adafactor"] = "adafactor"
    learning_rate: float = Field(default=1.0e-3, gt=0, le=10)
    """The peak rate; the schedule says which share of it holds at a step."""
    clip_update: float = Field(default=1.0, gt=0)
    """An update whose root mean square is above this is scaled down to it (section 6)."""
    decay_exponent: float = Field(default=0.8, gt=0, lt=1)
    """The second moment's decay at step t is 1 - t^(-decay_exponent) (section 7.2)."""
    eps: float = Field(default=1.0e-30, gt=0)
    """Added to the squared gradient."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers()
    """Other rates for embeddings, hidden matrices, the output or vectors; by default all have one."""


class StableAdamW(AdamW):
    """AdamW whose rate is lowered, tensor by tensor, where the second moment lags behind the gradients: Adafactor's
    update clipping in AdamW (arXiv 2304.13013, algorithm 2)."""

    kind: Literal["stable_adamw"] = "stable_adamw"  # type: ignore[assignment]


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

    @model_validator(mode="after")
    def _betas_below_one(self) -> "Lion":
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: got {list(self.betas)}; each is at least 0 and below 1")
        return self


class SGD(Settings):
    """Stochastic gradient descent with momentum."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: float = Field(default=0.1, gt=0, le=100)
    """The peak rate; the schedule says which share of it holds at a step."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the sum of gradients that is stepped along."""
    nesterov: bool = False
    """Looks one step ahead along the momentum (Sutskever et al. 2013)."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""
    learning_rate_multipliers: LearningRateMultipliers = LearningRateMultipliers()
    """Other rates for embeddings, hidden matrices, the output or vectors; by default all have one."""


Optimizer = Annotated[AdamW | Adafactor | StableAdamW | Lion | SGD, Field(discriminator="kind")]
