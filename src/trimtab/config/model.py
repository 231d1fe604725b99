"""The shape of the model: presets, or every value spelled out."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.settings import Settings

Preset = Literal["tiny", "small", "base", "big"]

ENCODER_DECODER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 192, "heads": 3, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 768},
    "small": {"dim": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024},
    "base": {"dim": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"dim": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}


class EncoderDecoderModel(Settings):
    """A transformer encoder-decoder (Vaswani et al. 2017, arXiv 1706.03762) with a shared vocabulary."""

    shorthands: ClassVar[tuple[str, ...]] = ("layers",)
    """`layers` sets encoder_layers and decoder_layers where they are not given."""

    kind: Literal["encoder_decoder"] = "encoder_decoder"
    preset: Preset | None = None
    """Fills dim, heads, layers and feed_forward; what is written beside it wins."""
    dim: int = Field(default=0, ge=8, le=65536)
    heads: int = Field(default=0, ge=1, le=1024)
    encoder_layers: int = Field(default=0, ge=1, le=1000)
    decoder_layers: int = Field(default=0, ge=1, le=1000)
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Width between the two linear maps of a feed-forward block."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """On embeddings and on the output of each sub-layer."""
    attention_dropout: float = Field(default=0.0, ge=0, le=0)
    """Only 0: no fast kernel has it (decision 0004)."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    norm: Literal["layer", "rms"] = "layer"
    norm_position: Literal["before", "after"] = "before"
    """Before each sub-layer, which trains at any depth, or after the addition as in the first transformer."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    bias: bool = True
    """Biases in the linear maps."""
    tie_embeddings: Literal["all", "decoder"] = "all"
    """One matrix for source, target and output, or one for target and output beside the source's own."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given: dict[str, Any] = dict(value)  # type: ignore[arg-type]
        if "layers" in given:
            layers = given.pop("layers")
            for side in ("encoder_layers", "decoder_layers"):
                given.setdefault(side, layers)
        preset = given.get("preset")
        base = ENCODER_DECODER_PRESETS["base"]
        # An unknown preset is reported once, by its own field, not again by every size that it leaves open.
        sizes = {} if preset is None else ENCODER_DECODER_PRESETS.get(str(preset), base)
        filled = {**sizes, **given}
        missing = [key for key in base if key not in filled]
        if missing:
            raise ValueError(
                f"{', '.join(missing)}: not given, and no preset is named to fill it; "
                f"presets are {', '.join(ENCODER_DECODER_PRESETS)}"
            )
        return filled

    @model_validator(mode="after")
    def _heads_divide(self) -> "EncoderDecoderModel":
        if self.dim % self.heads:
            raise ValueError(f"heads: {self.heads} heads do not divide dim {self.dim}")
        if (self.dim // self.heads) % 2 and self.positions == "rotary":
            raise ValueError(f"positions: rotary needs an even head size, got {self.dim // self.heads}")
        if self.dim % 2:
            raise ValueError(f"dim: got {self.dim}; an even number is needed")
        return self


ModelConfig = EncoderDecoderModel
