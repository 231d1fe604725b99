"""The shape of an encoder alone: presets, or every value spelled out."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.layer_parts import Activation, NormPosition, check_norms
from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import EncoderPositions, PositionSettings, position_settings
from trimtab.config.presets import check_heads, check_rotation, filled_from_preset

EncoderPreset = Literal["tiny", "small", "base", "big"]

ENCODER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 192, "heads": 3, "layers": 2, "feed_forward": 768},
    "small": {"dim": 256, "heads": 4, "layers": 3, "feed_forward": 1024},
    "base": {"dim": 512, "heads": 8, "layers": 6, "feed_forward": 2048},
    "big": {"dim": 1024, "heads": 16, "layers": 6, "feed_forward": 4096},
}
"""The encoders of the encoder-decoders of the same names."""


class EncoderModel(ModelSettings):
    """A transformer encoder (Vaswani et al. 2017, arXiv 1706.03762) whose output is averaged over each text."""

    has_encoder: ClassVar[bool] = True
    reads_prefix: ClassVar[bool] = False
    tie_embeddings: ClassVar[bool] = False
    """Labels are no pieces, so that the matrix that scores them is never that of the embeddings."""
    attention_dropout: ClassVar[float] = 0.0
    experts: ClassVar[None] = None
    warm_start: ClassVar[None] = None
    """It always begins from nothing."""
    warm_start_sha256: ClassVar[None] = None

    kind: Literal["encoder"] = "encoder"
    preset: EncoderPreset | None = None
    """Fills dim, heads, layers and feed_forward; explicit values take precedence."""
    dim: int = Field(default=0, ge=8, le=65536)
    """Width of embeddings and of the residual stream; from the preset where one is named."""
    heads: int = Field(default=0, ge=1, le=1024)
    """Attention heads; they divide dim."""
    kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of keys and values, each shared by as many heads of queries: grouped-query attention (arXiv 2305.13245,
    section 2.2). By default as many as `heads`."""
    layers: int = Field(default=0, ge=1, le=1000)
    """Layers, each of self-attention in both directions and a feed-forward block."""
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Width between the two linear maps of a feed-forward block."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """On embeddings and on the output of each sub-layer."""
    positions: EncoderPositions = "sinusoidal"
    """How the model knows where a token is: sines added to the embeddings (arXiv 1706.03762, section 3.5), learned
    vectors added to them, queries and keys rotated by an angle (RoFormer, arXiv 2104.09864), or one of the others that
    `model.positions` of a translator has."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467)."""
    norm_position: NormPosition = "before"
    """Where each layer has norms: the choices that `norm_position` of an `encoder_decoder` model has."""
    rezero: bool = False
    """ReZero, which `norm_position: none` needs: see `rezero` of an `encoder_decoder` model."""
    qk_norm: bool = False
    """RMSNorm on the queries and keys of each head, before rotation (arXiv 2302.05442, section 2.1)."""
    activation: Activation = "relu"
    """Of the feed-forward blocks. `leaky_relu` multiplies negative numbers by 0.01; `silu` and `swish` are two names of
    x sigmoid(x); `swiglu` and `geglu` gate with a second map (arXiv 2002.05202, equation 6)."""
    bias: bool = True
    """Biases in the linear maps of attention and feed-forward blocks."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        return filled_from_preset(value, ENCODER_PRESETS)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "EncoderModel":
        if self.dim % 2:
            raise ValueError(f"dim: got {self.dim}; allowed is an even number")
        check_heads(self.dim, self.heads, self.kv_heads)
        check_norms(self.norm_position, rezero=self.rezero)
        check_rotation(self.dim, self.heads, self.position_settings, instead="sinusoidal")
        return self

    @property
    def position_settings(self) -> PositionSettings:
        """What its positions are and do."""
        return position_settings(self.positions)

    @property
    def all_position_settings(self) -> tuple[PositionSettings, ...]:
        """The same; an encoder-decoder has one for each side."""
        return (self.position_settings,)

    @property
    def needs_padding(self) -> bool:
        """Whether attention must run over padded rows, since a kernel for packs cannot do what the positions ask."""
        return any(each.has_bias for each in self.all_position_settings)
