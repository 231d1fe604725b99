"""The shape of the model: presets, or every value spelled out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field, field_validator, model_validator

from trimtab.config.experts import Experts, check_experts
from trimtab.config.layer_parts import Activation, NormPosition, check_norms
from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import (
    KINDS,
    EncoderPositions,
    PositionKind,
    PositionSettings,
    position_settings,
)
from trimtab.config.presets import check_fade, check_heads, check_rotation, filled_from_preset
from trimtab.config.settings import refused
from trimtab.units import Duration

Preset = Literal["tiny", "small", "base", "big"]

ENCODER_DECODER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 192, "heads": 3, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 768},
    "small": {"dim": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024},
    "base": {"dim": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"dim": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}


class EncoderDecoderModel(ModelSettings):
    """A transformer encoder-decoder (Vaswani et al. 2017, arXiv 1706.03762) with a shared vocabulary."""

    shorthands: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"layers": ("encoder_layers", "decoder_layers")}
    )
    """`layers` sets encoder_layers and decoder_layers where they are not given."""

    has_encoder: ClassVar[bool] = True
    reads_prefix: ClassVar[bool] = False
    kind: Literal["encoder_decoder"] = "encoder_decoder"
    preset: Preset | None = None
    """Sets dim, heads, layers and feed_forward; keys written beside it take precedence."""
    dim: int = Field(default=0, ge=8, le=65536)
    """Width of embeddings and of the residual stream; from the preset if there is one."""
    heads: int = Field(default=0, ge=1, le=1024)
    """Attention heads; their number must divide dim."""
    encoder_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of the encoder; by default `heads`."""
    decoder_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of the decoder, including its attention to the source; by default `heads`."""
    kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads for keys and values, each shared by several query heads: grouped-query attention (arXiv 2305.13245, section
    2.2). The decoding cache shrinks to kv_heads / heads of its size. By default as many as `heads`."""
    encoder_kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Key and value heads of the encoder, which has no cache; by default `kv_heads`."""
    decoder_kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Key and value heads of the decoder; by default `kv_heads`."""
    encoder_layers: int = Field(default=0, ge=1, le=1000)
    """Layers of the encoder; a deep encoder with a shallow decoder translates faster (arXiv 2006.10369)."""
    decoder_layers: int = Field(default=0, ge=1, le=1000)
    """Layers of the decoder."""
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Inner width of a feed-forward block."""
    encoder_feed_forward: int | None = Field(default=None, ge=8, le=1_000_000)
    """Inner width in the encoder; by default `feed_forward`."""
    decoder_feed_forward: int | None = Field(default=None, ge=8, le=1_000_000)
    """Inner width in the decoder; by default `feed_forward`."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Applied to embeddings and to the output of each sub-layer."""
    attention_dropout: float = Field(default=0.0, ge=0, le=0)
    """Only 0, because no fast kernel supports it (decision 0004)."""
    positions: EncoderPositions = "sinusoidal"
    """How the model encodes the position of a token: sines added to the embeddings (arXiv 1706.03762, section 3.5);
    learned vectors added to them; `rotary`, rotation of queries and keys (RoFormer, arXiv 2104.09864), or `rotary_qkv`,
    of values too (GTA, arXiv 2310.10375); `t5`, a learned bias on self-attention scores by distance (arXiv 1910.10683,
    section 2.1); or `shaw`, learned vectors by distance, added to keys and values in each layer (arXiv 1803.02155).
    `t5`, `shaw` and `alibi` use padded rows, which are slower on a GPU. Names joined by `+` use absolute positions and
    relative ones together (arXiv 2212.05830)."""
    decoder_positions: PositionKind | None = None
    """Positions of the decoder; by default `positions`. Only the decoder can have a penalty on self-attention scores by
    distance (ALiBi, arXiv 2108.12409), which uses padded rows. It also learns without positions, because a token sees
    how many precede it (arXiv 2203.16634; arXiv 2305.19466), though both were behind sines in a small translator
    (docs/lab.md, decoder_positions)."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467)."""
    norm_position: NormPosition = "before"
    """Before each sub-layer, which trains at any depth; after the addition as in the original transformer; `b2t`: after
    it, with the input of each layer added once more before its last norm (bottom-to-top connection, arXiv 2206.00330,
    section 4), so that deep models train; `sandwich`: on the input and the output of each sub-layer (arXiv 2105.13290,
    section 2.4); or `none`, which needs `rezero`. With before, sandwich and none, each stack ends in a norm."""
    rezero: bool = False
    """Scales the output of each sub-layer by a learned scalar that is initialized to zero, so that each layer starts as
    the identity (ReZero, arXiv 2003.04887, equation 3). With `norm_position: none` the layers have no norms, as in the
    paper."""
    qk_norm: bool = False
    """RMSNorm on the queries and keys of each head in self-attention, before rotation, so that no attention logit can
    grow without bound (arXiv 2302.05442, section 2.1). Attention to the source has none."""
    activation: Activation = "relu"
    """Activation of the feed-forward blocks. `leaky_relu` multiplies negative numbers by 0.01; `silu` and `swish` both
    mean x sigmoid(x); `swiglu` and `geglu` add a gating matrix (arXiv 2002.05202, equation 6), which makes the block
    half as large again at the same feed_forward."""
    experts: Experts | None = None
    """Several feed-forward blocks in each layer, of which each token uses a few (mixture of experts, arXiv 1701.06538);
    `feed_forward` is the width of one."""
    bias: bool = True
    """Biases in the linear layers of attention and feed-forward blocks. This does not affect norms: `norm: layer`
    always has a bias, `norm: rms` never. Embeddings and output have none either."""
    tie_embeddings: Literal["all", "decoder", "none"] = "all"
    """One matrix for source, target and output; one for target and output (arXiv 1608.05859) and a separate one for the
    source; or three. With `data.source_tokenizer` the source needs a separate one."""

    encoder_mix: Literal["last", "softmax", "linear"] = "last"
    """What the decoder attends to: the output of the `last` encoder layer, or in each decoder layer a weighted sum of
    the source's embeddings and the outputs of all encoder layers. The learned weights sum to 1 (`softmax`: transparent
    attention, arXiv 1808.07561) or are unconstrained (`linear`); `health.jsonl` logs them as `encoder_mix`."""

    registers: int = Field(default=0, ge=0, le=64)
    """Learned vectors that are prepended to each source as extra tokens and removed after the last encoder layer;
    attention can fall on them where no token of the source is relevant (arXiv 2309.16588)."""

    mup_base_dim: int | None = Field(default=None, ge=8, le=65536)
    """Width of a smaller model whose learning rate this one takes over: muP (arXiv 2203.03466, table 8). It sets
    `learning_rate_multipliers` by dim / mup_base_dim, so that the best learning rate does not depend on dim. Keep
    the size of heads (dim / heads) and feed_forward / dim as they are in the smaller model."""

    warm_start: str | None = None
    """Start from the weights of another run, `RUN`, `RUN@last` or `RUN@500`, with a fresh optimizer at step 0. What
    `model` and `data.tokenizer` leave out is as in that run, except for dropout. The model must be the same except for
    dropout and tied matrices. Another vocabulary is mapped piece by piece: a piece in both keeps its vector, a new one
    gets the mean of the pieces that the old tokenizer splits it into (arXiv 2402.09977). The path is relative to the
    recipe's folder."""
    warm_start_positions: Literal["same", "other"] = "same"
    """Whether `positions` must match those of the run in `warm_start`. With `other`, the new model loads the weights
    that both have, initializes the rest, and has to learn its new positions: a short training can replace sinusoidal
    positions with rotary ones (arXiv 2408.11382). To change in two steps, train with `sinusoidal+rotary` first."""
    absolute_fade: Duration | None = None
    """With combined positions, such as `sinusoidal+rotary`: the steps over which the absolute positions fade out
    linearly, so that only the relative ones remain. This replaces the positions of the run in `warm_start` gradually;
    `warm_start_positions: other` alone does so at once. By default, absolute positions do not fade."""
    warm_start_sha256: str | None = None
    """SHA-256 of these weights. The run fills it in when it starts, so that its recipe records what it started from. If
    it is set, the weights must match."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given: dict[str, Any] = dict(value)  # type: ignore[arg-type]
        for shorthand, fields in cls.shorthands.items():
            if shorthand in given:
                given = {**dict.fromkeys(fields, given.pop(shorthand)), **given}
        return filled_from_preset(given, ENCODER_DECODER_PRESETS)

    @field_validator("encoder_mix", mode="before")
    @classmethod
    def _earlier_name(cls, value: Any) -> Any:
        """`free`, the earlier name of `linear`, is still read for one release."""
        return "linear" if value == "free" else value

    @field_validator("positions", mode="before")
    @classmethod
    def _encoder_knows_order(cls, value: Any) -> Any:
        found = next((each for each in KINDS if each.kind == value), None)
        if found is not None and not found.tells_directions:
            raise refused(
                "",
                "an encoder cannot tell the order of the words from these positions (arXiv 1706.03762, section 3.5)",
                got=str(value),
                allowed=", ".join(get_args(EncoderPositions)),
                fix=f"remove it; the decoder, which reads from left to right, can do with `decoder_positions: {value}`",
            )
        return value

    @model_validator(mode="after")
    def _sizes_fit(self) -> "EncoderDecoderModel":
        if self.dim % 2:
            raise ValueError(f"dim: got {self.dim}; allowed is an even number")
        check_norms(self.norm_position, rezero=self.rezero)
        check_fade(self.absolute_fade, self.all_position_settings)
        widths = self.encoder.feed_forward, self.decoder.feed_forward
        check_experts(self.experts, dim=self.dim, feed_forward=widths)
        self._check_side(self.encoder, "encoder")
        self._check_side(self.decoder, "decoder")
        return self

    @property
    def encoder(self) -> "EncoderDecoderModel":
        """The settings with the encoder's own put under the plain names: `heads`, `kv_heads`, `feed_forward`."""
        return self._side(
            heads=self.encoder_heads, kv_heads=self.encoder_kv_heads, feed_forward=self.encoder_feed_forward
        )

    @property
    def decoder(self) -> "EncoderDecoderModel":
        """The settings with the decoder's own put under the plain names."""
        return self._side(
            heads=self.decoder_heads, kv_heads=self.decoder_kv_heads, feed_forward=self.decoder_feed_forward
        )

    @property
    def target_positions(self) -> PositionKind:
        """The decoder's positions."""
        return self.decoder_positions or self.positions

    @property
    def source_position_settings(self) -> PositionSettings:
        """What the encoder's positions are and do."""
        return position_settings(self.positions)

    @property
    def target_position_settings(self) -> PositionSettings:
        """What the decoder's positions are and do."""
        return position_settings(self.target_positions)

    @property
    def all_position_settings(self) -> tuple[PositionSettings, ...]:
        """Those of both sides."""
        return self.source_position_settings, self.target_position_settings

    @property
    def cross_attention(self) -> tuple[int, int]:
        """See `ModelSettings.cross_attention`."""
        return self.decoder_layers, self.decoder.heads

    @property
    def needs_padding(self) -> bool:
        """Whether attention must run over padded rows, since a kernel for packs cannot do what the positions ask."""
        return any(each.has_bias for each in self.all_position_settings)

    def _side(self, **own: int | None) -> "EncoderDecoderModel":
        sizes = {key: getattr(self, key) if size is None else size for key, size in own.items()}
        return self.model_copy(update={**sizes, "kv_heads": sizes["kv_heads"] or sizes["heads"]})

    def _check_side(self, own: "EncoderDecoderModel", side: Literal["encoder", "decoder"]) -> None:
        """Raises a refusal where the heads of a side do not fit."""
        heads, kv_heads = f"{side}_heads", f"{side}_kv_heads"
        heads = "heads" if getattr(self, heads) is None else heads
        kv_heads = "kv_heads" if getattr(self, kv_heads) is None else kv_heads
        check_heads(self.dim, own.heads, own.kv_heads, key=heads, kv_key=kv_heads)
        is_source = side == "encoder"
        check_rotation(
            self.dim,
            own.heads,
            self.source_position_settings if is_source else self.target_position_settings,
            instead="sinusoidal",
            key="positions" if is_source or self.decoder_positions is None else "decoder_positions",
        )


ModelConfig = EncoderDecoderModel
