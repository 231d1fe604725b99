"""Learning rates by what a weight is for."""

from typing import Annotated, Literal

from pydantic import Field

from trimtab.config.settings import Settings

Role = Literal["embedding", "hidden", "output", "vector", "lora_b"]
"""The purpose of a weight, derived from its name."""


class LearningRateMultipliers(Settings):
    """Factors on the learning rate for the weights of each role, throughout the schedule: muP (arXiv 2203.03466, table
    8) scales Adam's learning rate for hidden matrices with 1 / width; `model.mup_base_dim` fills in all of it. Weight
    decay is proportional to the learning rate, so it is scaled too; it applies only to hidden matrices, so divide
    `weight_decay` by `hidden` to keep it. `learning_rate` in metrics.jsonl is that of the schedule, without these
    factors."""

    embedding: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Embedding tables: of tokens, and of learned positions. A matrix that is tied to the output belongs here."""
    hidden: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Matrices of the linear layers in attention and feed-forward blocks."""
    output: float = Field(default=1.0, ge=1e-4, le=1e4)
    """The output matrix, if `model.tie_embeddings` leaves it separate."""
    vector: float = Field(default=1.0, ge=1e-4, le=1e4)
    """Gains of norms, and biases; of DoRA, the lengths of rows."""
    lora_b: float = Field(default=1.0, ge=1e-4, le=1e4)
    """The second matrices of an adapter, which begin at zero. LoRA+ (arXiv 2402.12354) lets them learn faster, its
    default being 16; then choose the learning rate again."""
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    """Factor from each layer to the one below it, beside that of the role: the last layer of a stack has 1, the one
    before it this, and so on; embeddings have that of a layer below the first. 0.75 to 0.95 is usual for fine-tuning
    (ULMFiT, arXiv 1801.06146, section 3.2; BEiT, arXiv 2106.08254). Refused with `model.kind: modular`, where a
    layer may have another depth in each direction, and `x_transformers`, which numbers attention and feed-forward as
    layers of their own; use `names` there."""
    names: dict[str, Annotated[float, Field(ge=1e-4, le=1e4)]] = Field(default={}, max_length=100)
    """Factors for groups of weights by patterns over their names, as in `freeze`: `{"encoder.*": 0.1}`. They multiply
    the factors of the role and the layer. If several patterns match a weight, the last one counts; a pattern that
    matches no weight is refused."""
