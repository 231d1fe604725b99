"""The shape of the model: presets, or every value spelled out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from trimtab.config.positions import EncoderPositions, PositionKind, PositionSettings, position_settings
from trimtab.config.presets import filled_from_preset
from trimtab.config.settings import Settings, refused

Preset = Literal["tiny", "small", "base", "big"]

ENCODER_DECODER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 192, "heads": 3, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 768},
    "small": {"dim": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024},
    "base": {"dim": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"dim": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}


class EncoderDecoderModel(Settings):
    """A transformer encoder-decoder (Vaswani et al. 2017, arXiv 1706.03762) with a shared vocabulary."""

    shorthands: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"layers": ("encoder_layers", "decoder_layers")}
    )
    """`layers` sets encoder_layers and decoder_layers where they are not given."""

    has_encoder: ClassVar[bool] = True
    reads_prefix: ClassVar[bool] = False
    kind: Literal["encoder_decoder"] = "encoder_decoder"
    preset: Preset | None = None
    """Fills dim, heads, layers and feed_forward; what is written beside it wins."""
    dim: int = Field(default=0, ge=8, le=65536)
    """Width of embeddings and of the residual stream; from the preset where one is named."""
    heads: int = Field(default=0, ge=1, le=1024)
    """Attention heads; they divide dim."""
    encoder_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of the encoder alone; by default `heads`."""
    decoder_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of the decoder alone, of its attention to the source too; by default `heads`."""
    kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of keys and values, each shared by as many heads of queries: grouped-query attention (arXiv 2305.13245,
    section 2.2). A translator's cache shrinks to kv_heads / heads of its size. By default as many as `heads`."""
    encoder_kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Those of the encoder alone, which keeps no cache; by default `kv_heads`."""
    decoder_kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Those of the decoder alone; by default `kv_heads`."""
    encoder_layers: int = Field(default=0, ge=1, le=1000)
    """Layers of the encoder; a deep encoder beside a shallow decoder translates faster (arXiv 2006.10369)."""
    decoder_layers: int = Field(default=0, ge=1, le=1000)
    """Layers of the decoder."""
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Width between the two linear maps of a feed-forward block."""
    encoder_feed_forward: int | None = Field(default=None, ge=8, le=1_000_000)
    """That of the encoder alone; by default `feed_forward`."""
    decoder_feed_forward: int | None = Field(default=None, ge=8, le=1_000_000)
    """That of the decoder alone; by default `feed_forward`."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """On embeddings and on the output of each sub-layer."""
    attention_dropout: float = Field(default=0.0, ge=0, le=0)
    """Only 0: no fast kernel has it (decision 0004)."""
    positions: EncoderPositions = "sinusoidal"
    """How the model knows where a token stands: sines added to the embeddings (arXiv 1706.03762, section 3.5), learned
    vectors added to them, or queries and keys turned by an angle (RoFormer, arXiv 2104.09864)."""
    decoder_positions: PositionKind | None = None
    """Those of the decoder alone; by default `positions`. A penalty on the scores of self-attention by distance (ALiBi,
    arXiv 2108.12409) is for it alone, and runs over padded rows. It also learns with none, since a token sees how many
    come before it (arXiv 2203.16634; arXiv 2305.19466)."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467)."""
    norm_position: Literal["before", "after"] = "before"
    """Before each sub-layer, which trains at any depth, or after the addition as in the first transformer."""
    activation: Literal["relu", "gelu", "silu", "swish", "swiglu", "geglu"] = "relu"
    """Of the feed-forward blocks. `silu` and `swish` are two names of x sigmoid(x); `swiglu` and `geglu` gate with a
    second map (arXiv 2002.05202, equation 6), which makes the block half as large again at the same feed_forward."""
    bias: bool = True
    """Biases in the linear maps of attention and feed-forward blocks. The norms are not meant: `norm: layer` has a bias
    in any case, `norm: rms` has none; embeddings and output have none either."""
    tie_embeddings: Literal["all", "decoder", "none"] = "all"
    """One matrix for source, target and output, or one for target and output (arXiv 1608.05859) beside the source's
    own, or three. With `data.source_tokenizer` the source must have its own."""

    warm_start: str | None = None
    """Begin from the weights of another run, `RUN`, `RUN@last` or `RUN@500`, with a fresh optimizer at step 0. The
    model must be the same but for dropout and how it is tied; the vocabulary may be another, which is mapped piece by
    piece: a piece that both have keeps its vector, a new one has the mean of those that the old tokenizer cuts it into
    (arXiv 2402.09977). The path starts from the recipe's folder."""
    warm_start_sha256: str | None = None
    """Of the weights; filled in when the run begins, so that its recipe says what it began from. Where it is written,
    the weights must be these."""

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

    @field_validator("positions", mode="before")
    @classmethod
    def _encoder_knows_order(cls, value: Any) -> Any:
        if value == "none":
            raise refused(
                "",
                "an encoder without positions cannot tell the order of the words (arXiv 1706.03762, section 3.5)",
                got="none",
                allowed="sinusoidal, learned or rotary",
                fix="remove it; `decoder_positions: none` leaves them out of the decoder, which can do without",
            )
        return value

    @model_validator(mode="after")
    def _sizes_fit(self) -> "EncoderDecoderModel":
        if self.dim % 2:
            raise ValueError(f"dim: got {self.dim}; allowed is an even number")
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

    def _side(self, **own: int | None) -> "EncoderDecoderModel":
        sizes = {key: getattr(self, key) if size is None else size for key, size in own.items()}
        return self.model_copy(update={**sizes, "kv_heads": sizes["kv_heads"] or sizes["heads"]})

    def _check_side(self, own: "EncoderDecoderModel", side: Literal["encoder", "decoder"]) -> None:
        """Raises a refusal where the heads of a side do not fit."""
        heads, kv_heads = f"{side}_heads", f"{side}_kv_heads"
        heads = "heads" if getattr(self, heads) is None else heads
        kv_heads = "kv_heads" if getattr(self, kv_heads) is None else kv_heads
        if self.dim % own.heads:
            raise refused(
                heads,
                f"{own.heads} heads do not divide dim {self.dim}",
                got=str(own.heads),
                allowed=f"a divisor of {self.dim}, such as {_near_divisor(self.dim, own.heads)}",
                fix=f"set `{heads}: {_near_divisor(self.dim, own.heads)}`, or a dim that {own.heads} divides",
            )
        kept = own.kv_heads or own.heads
        if own.heads % kept:
            raise refused(
                kv_heads,
                f"{own.heads} heads cannot share {kept} heads of keys and values evenly",
                got=str(kept),
                allowed=f"a divisor of {own.heads}: {', '.join(map(str, _divisors(own.heads)))}",
                fix=f"set `{kv_heads}: {_near_divisor(own.heads, kept)}`",
            )
        size = self.dim // own.heads
        positions = self.source_position_settings if side == "encoder" else self.target_position_settings
        if size % 2 and positions.rotates:
            raise refused(
                "positions" if side == "encoder" or self.decoder_positions is None else "decoder_positions",
                f"{positions.kind} needs an even head size, got {size}",
                got=f"dim {self.dim} / {own.heads} heads = {size}",
                allowed=f"an even number: {positions.kind} positions turn pairs",
                fix="set fewer `heads`, or sinusoidal positions",
            )


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _near_divisor(number: int, wanted: int) -> int:
    """The divisor nearest to what was wanted, the smaller of two."""
    return min(_divisors(number), key=lambda each: (abs(each - wanted), each))


ModelConfig = EncoderDecoderModel
