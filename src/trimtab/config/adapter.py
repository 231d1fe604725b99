"""Adapters: small trained matrices beside frozen weights."""

import math
from typing import Literal

from pydantic import Field, field_validator

from trimtab.config.settings import Settings

Target = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
"""Linear maps of a layer, as PEFT and transformers name them."""
ALL_LINEAR: tuple[Target, ...] = (
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
)


class LoraAdapter(Settings):
    """LoRA (Hu et al. 2021, arXiv 2106.09685): each chosen linear map gets the product of two thin matrices added,
    which alone are trained. Checkpoints hold the adapter alone; `trimtab export --to peft` writes it in PEFT's format,
    and `--to hf` merges it."""

    kind: Literal["lora"] = "lora"
    rank: int = Field(default=16, ge=1, le=4096)
    """Inner width of the product. Speed as well as memory bound it: each map costs two more products."""
    alpha: float | None = Field(default=None, gt=0, le=100_000)
    """The product is multiplied by alpha / rank, or alpha / sqrt(rank) with `rslora`; by default alpha is the rank, so
    that the factor is 1."""
    rslora: bool = False
    """Divide by the square root of the rank, so that large ranks learn as fast as small ones (rsLoRA, arXiv
    2312.03732)."""
    dropout: float = Field(default=0.0, ge=0, le=0)
    """Only 0: it makes training slower and helps little where a run is as short as it should be."""
    targets: Literal["all_linear"] | tuple[Target, ...] = "all_linear"
    """Which linear maps: all of attention and feed-forward blocks, or some by PEFT's names, such as `[q_proj,
    v_proj]`."""

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
        return float(self.rank) if self.alpha is None else self.alpha

    @property
    def scale(self) -> float:
        """What the product is multiplied by."""
        return self.alpha_used / (math.sqrt(self.rank) if self.rslora else self.rank)
