"""Adapters: small trained matrices beside frozen weights."""

import math
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from trimtab.config.settings import Settings, refused

Target = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
"""Linear maps of a layer, as PEFT and transformers name them. In a translator they are those of the encoder, of the
decoder, and of its attention to the source."""
ALL_LINEAR: tuple[Target, ...] = (
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
)
ALPHA_OF_RSLORA = 16.0
TABLES = frozenset(
    {"embed_tokens", "lm_head", "embedding", "embeddings", "output", "wte", "shared", "word_embeddings"}
)
"""Names of embeddings and of the output matrix, here and in other tools."""


class LoraAdapter(Settings):
    """LoRA (Hu et al. 2021, arXiv 2106.09685): each chosen linear map gets the product of two thin matrices added,
    which alone are trained. Checkpoints hold the adapter alone; `trimtab export --to peft` writes it in PEFT's format,
    and `--to hf` merges it, after which it cannot be swapped for another. For LoRA+ (Hayou et al. 2024, arXiv
    2402.12354), set `step.optimizer.learning_rate_multipliers.lora_b: 16`."""

    kind: Literal["lora"] = "lora"
    rank: int = Field(default=16, ge=1, le=4096)
    """Inner width of the product. Take the highest that fits, 512 down: what an adapter can learn is bounded by its
    size. Speed as well as memory bound it, since each map costs two more products."""
    alpha: float | None = Field(default=None, gt=0, le=100_000)
    """The product is multiplied by alpha / rank, or alpha / sqrt(rank) with `rslora`; the run prints the factor. By
    default alpha is the rank, so that the factor is 1, and 16 with `rslora`, where alpha = rank would multiply by
    sqrt(rank)."""
    rslora: bool = False
    """Divide by the square root of the rank, so that large ranks learn as fast as small ones (rsLoRA, arXiv
    2312.03732): alpha is then a constant for all ranks."""
    dora: bool = False
    """Train the length of each row of a matrix apart from its direction, which the product changes (DoRA, arXiv
    2402.09353). A step is slower, since each computes the lengths again."""
    dropout: float = Field(default=0.0, ge=0, le=0)
    """Only 0: it makes training slower and helps little where a run is as short as it should be. Where an adapter
    overfits, train it for less time."""
    targets: Literal["all_linear"] | tuple[Target, ...] = "all_linear"
    """Which linear maps: all of attention and feed-forward blocks, or some by PEFT's names, such as `[q_proj,
    v_proj]`."""
    embeddings: Literal["frozen", "train"] = "frozen"
    """Train the embeddings, and an output matrix of their own, in full beside the adapter: needed where the vocabulary
    has grown, since new rows know nothing. Tied matrices stay tied. Checkpoints then hold them too."""
    quantize_base: Literal["none", "nf4"] = "none"
    """Keep the frozen matrices of the layers in 4 bits (QLoRA, arXiv 2305.14314): NormalFloat in blocks of 64, their
    scales in 8 bits, as bitsandbytes packs them. Products are computed in the precision of the step. A step is slower
    and needs about a quarter of the memory for the base."""

    @field_validator("targets", mode="before")
    @classmethod
    def _no_tables(cls, value: Any) -> Any:
        given: Any = value
        names: list[Any] = [given]
        if isinstance(given, list | tuple):
            names = [*cast("list[Any]", given)]
        if tables := [str(each) for each in names if isinstance(each, str) and each in TABLES]:
            raise refused(
                "",
                "a low-rank product cannot represent single rows, and in tied embeddings it would "
                "change one side only",
                got=", ".join(tables),
                allowed=f"all_linear, or some of {', '.join(ALL_LINEAR)}",
                fix="leave them out; to train the embeddings in full, set `adapter.embeddings: train`",
            )
        return value

    @field_validator("targets", mode="after")
    @classmethod
    def _some(cls, value: str | tuple[Target, ...]) -> str | tuple[Target, ...]:
        if isinstance(value, tuple) and (not value or len(set(value)) < len(value)):
            raise ValueError(f"got {list(value)}; allowed is at least one name, each once")
        return value

    @property
    def names(self) -> tuple[Target, ...]:
        """The maps that are adapted."""
        return ALL_LINEAR if self.targets == "all_linear" else self.targets

    @property
    def alpha_used(self) -> float:
        """Alpha, the default filled in."""
        if self.alpha is not None:
            return self.alpha
        return ALPHA_OF_RSLORA if self.rslora else float(self.rank)

    @property
    def scale(self) -> float:
        """What the product is multiplied by."""
        return self.alpha_used / (math.sqrt(self.rank) if self.rslora else self.rank)
