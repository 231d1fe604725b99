"""The shape of a language model: presets, or every value spelled out."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.experts import Experts, check_experts
from trimtab.config.layer_parts import Activation, NormPosition, check_norms
from trimtab.config.mixture_of_depths import MixtureOfDepths, check_mixture_of_depths
from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import PLAIN_THETA, PositionKind, PositionSettings, position_settings
from trimtab.config.presets import check_fade, check_heads, check_rotation, filled_from_preset
from trimtab.config.rope_scaling import RopeScaling
from trimtab.config.settings import refused
from trimtab.units import Duration

DecoderPreset = Literal["tiny", "small", "base", "big"]

DECODER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 192, "heads": 3, "layers": 4, "feed_forward": 512},
    "small": {"dim": 512, "heads": 8, "layers": 8, "feed_forward": 1408},
    "base": {"dim": 1024, "heads": 16, "layers": 24, "feed_forward": 2816},
    "big": {"dim": 2048, "heads": 16, "layers": 24, "feed_forward": 5632},
}
"""Feed-forward blocks are about 8/3 of dim, so that a gated one has the size of a plain one of 4 times dim (arXiv
2002.05202, section 3). Parameters with a tied vocabulary of 32,000: 7.9M, 42M, 341M, 1.30B; 374M and 1.36B untied."""


class DecoderModel(ModelSettings):
    """A decoder-only transformer (Liu et al. 2018, arXiv 1801.10198), by default in the shape of Llama (arXiv
    2302.13971): rotary positions, RMSNorm before each sub-layer, SwiGLU, no biases."""

    has_encoder: ClassVar[bool] = False
    kind: Literal["decoder"] = "decoder"
    preset: DecoderPreset | None = None
    """Sets dim, heads, layers and feed_forward; keys written beside it take precedence."""
    dim: int = Field(default=0, ge=8, le=65536)
    """Width of embeddings and of the residual stream; from the preset if there is one."""
    heads: int = Field(default=0, ge=1, le=1024)
    """Attention heads; their number must divide dim."""
    kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads for keys and values, each shared by several query heads: grouped-query attention (arXiv 2305.13245, section
    2.2). The decoding cache shrinks to kv_heads / heads of its size. By default as many as `heads`."""
    head_size: int | None = Field(default=None, ge=2, le=4096)
    """Numbers in each head, where that is not dim / heads, as in Qwen3 and Mistral NeMo; heads need not divide dim
    then."""
    layers: int = Field(default=0, ge=1, le=1000)
    """Layers, each of self-attention and a feed-forward block."""
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Inner width of a feed-forward block. A gated block has three matrices instead of two, so 8/3 of dim makes it as
    large as a plain one with 4 times dim."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Applied to embeddings and to the output of each sub-layer. A model that sees its text about once needs none."""
    attention_dropout: float = Field(default=0.0, ge=0, le=0)
    """Only 0, because no fast kernel supports it (decision 0004)."""
    positions: PositionKind = "rotary"
    """How the model encodes the position of a token: `rotary`, rotation of queries and keys (RoFormer, arXiv
    2104.09864), or `rotary_qkv`, of values too (GTA, arXiv 2310.10375); learned vectors or sines added to the
    embeddings (arXiv 1706.03762, section 3.5); a penalty on attention scores by distance (ALiBi, arXiv 2108.12409);
    `t5`, a learned bias on them (arXiv 1910.10683, section 2.1); `shaw`, learned vectors by distance, added to keys and
    values in each layer (arXiv 1803.02155); or only the number of preceding tokens (arXiv 2203.16634). `alibi`, `t5`
    and `shaw` use padded rows, which are slower on a GPU. Names joined by `+` use absolute positions and relative ones
    together (arXiv 2212.05830)."""
    rope_theta: float = Field(default=PLAIN_THETA, ge=2, le=1e9)
    """The wavelengths of rotary positions range from 2π to nearly 2π times this; use a larger value for longer
    texts."""
    rope_scaling: RopeScaling | None = None
    """Stretches the wavelengths of rotary positions as Llama 3.1 does; pretrained models bring their own."""
    norm: Literal["layer", "rms"] = "rms"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467)."""
    norm_epsilon: float | None = Field(default=None, gt=0, le=1e-2)
    """Added to the mean square (or the variance) before the root in each norm; by default 1e-6 for `rms` and 1e-5 for
    `layer`. Pretrained models bring their own."""
    norm_position: NormPosition = "before"
    """Where each layer has norms: the choices that `norm_position` of an `encoder_decoder` model has."""
    rezero: bool = False
    """ReZero, which `norm_position: none` needs: see `rezero` of an `encoder_decoder` model."""
    qk_norm: bool = False
    """RMSNorm on the queries and keys of each head before rotation, with one gain for all heads, so that no attention
    logit can grow without bound (arXiv 2302.05442, section 2.1; arXiv 2309.14322 for small models)."""
    activation: Activation = "swiglu"
    """Activation of the feed-forward blocks. `leaky_relu` multiplies negative numbers by 0.01; `silu` and `swish` both
    mean x sigmoid(x); `swiglu` and `geglu` add a gating matrix (arXiv 2002.05202, equation 6)."""
    experts: Experts | None = None
    """Several feed-forward blocks in each layer, of which each token uses a few (mixture of experts, arXiv 1701.06538);
    `feed_forward` is the width of one."""
    mixture_of_depths: MixtureOfDepths | None = None
    """Layers that compute only some of the tokens, which a router chooses; the others skip them (mixture of depths,
    arXiv 2404.02258)."""
    bias: bool | Literal["qkv"] = False
    """Biases in the linear layers of attention and feed-forward blocks, or, with `qkv`, for queries, keys and values
    alone, as in Qwen2. This does not affect norms: `norm: layer` always has a bias, `norm: rms` never. Embeddings and
    output have none either."""
    tie_embeddings: bool = True
    """One matrix for input and output (arXiv 1608.05859), or two."""
    prefix: Literal["causal", "bidirectional"] = "causal"
    """Attention within a prompt, whose tokens do not count in the loss: `causal` as everywhere else, or
    `bidirectional`, as an encoder sees its source (prefix language model, arXiv 1910.10683, section 3.2.1). Text
    without prompts is causal in both."""
    residual: Literal["half", "float32"] = "half"
    """Precision of the residual stream on a GPU under `precision: bf16_mixed`: that of the matrix products, which
    halves the memory traffic between them, or float32. Norms, softmax and loss use float32 in both. Everywhere else the
    stream has the precision of the weights: float32, or bfloat16 under `precision: bf16`."""
    init_on: Literal["cpu", "gpu"] = "cpu"
    """Where the first weights are drawn. On the `cpu` the same seed gives the same weights for any device; a model of
    billions of weights takes minutes and 4 bytes of host memory for each. On the `gpu` it takes seconds and no host
    memory: they are drawn there, in the precision in which the run keeps them."""

    mup_base_dim: int | None = Field(default=None, ge=8, le=65536)
    """Width of a smaller model whose learning rate this one takes over: muP (arXiv 2203.03466, table 8). It sets
    `learning_rate_multipliers` by dim / mup_base_dim and draws the first weights accordingly, so that the best learning
    rate does not depend on dim. Keep the size of heads (dim / heads) and feed_forward / dim as they are in the smaller
    model."""

    warm_start: str | None = None
    """Start from the weights of another run, `RUN`, `RUN@last` or `RUN@500`, with a fresh optimizer at step 0. What
    `model` and `data.tokenizer` leave out is as in that run, except for dropout. The model must be the same except for
    dropout and tied matrices; a vocabulary that is written otherwise is mapped piece by piece (arXiv 2402.09977). The
    path is relative to the recipe's folder."""
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

    @property
    def reads_prefix(self) -> bool:
        """Whether the tokens of a prompt see each other in both directions."""
        return self.prefix == "bidirectional"

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        return filled_from_preset(value, DECODER_PRESETS)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "DecoderModel":
        if self.dim % 2:
            raise ValueError(f"dim: got {self.dim}; allowed is an even number")
        width = self.dim if self.head_size is None else self.head_size * self.heads
        check_heads(width, self.heads, self.kv_heads)
        check_norms(self.norm_position, rezero=self.rezero)
        check_fade(self.absolute_fade, self.all_position_settings)
        check_mixture_of_depths(self.mixture_of_depths, layers=self.layers, prefix=self.prefix)
        check_experts(self.experts, dim=self.dim, feed_forward=(self.feed_forward,))
        return self

    @property
    def size_of_heads(self) -> int:
        """Numbers in each head."""
        return self.head_size or self.dim // self.heads

    @property
    def position_settings(self) -> PositionSettings:
        """What its positions are and do."""
        return position_settings(
            self.positions,
            theta=self.rope_theta,
            scaling=None if self.rope_scaling is None else self.rope_scaling.record,
        )

    @property
    def all_position_settings(self) -> tuple[PositionSettings, ...]:
        """The same; an encoder-decoder has one for each side."""
        return (self.position_settings,)

    @property
    def drawn_on_gpu(self) -> bool:
        """See `ModelSettings.drawn_on_gpu`."""
        return self.init_on == "gpu"

    @property
    def needs_padding(self) -> bool:
        """Whether attention must run over padded rows, since a kernel for packs cannot do what the positions ask."""
        return self.position_settings.has_bias

    @model_validator(mode="after")
    def _positions_fit(self) -> "DecoderModel":
        width = self.dim if self.head_size is None else self.head_size * self.heads
        check_rotation(width, self.heads, self.position_settings, instead="learned")
        if self.position_settings.has_bias and self.prefix == "bidirectional":
            raise refused(
                "positions",
                "a bias by distance is the same in both directions, so that the order within a prefix is lost",
                got=f"positions: {self.positions} with prefix: bidirectional",
                allowed="prefix: causal, or other positions",
                fix="set `prefix: causal`, or `positions: rotary`",
            )
        if not self.position_settings.rotates and self.rope_scaling is not None:
            raise refused(
                "rope_scaling",
                "only rotary positions have wavelengths to stretch",
                got=f"rope_scaling with positions: {self.positions}",
                allowed="rope_scaling with `positions: rotary`",
                fix="remove `rope_scaling`, or set `positions: rotary`",
            )
        if not self.position_settings.rotates and self.rope_theta != PLAIN_THETA:
            raise refused(
                "rope_theta",
                "only rotary positions have an angle",
                got=f"rope_theta {self.rope_theta:g} with positions: {self.positions}",
                allowed="rope_theta with `positions: rotary`",
                fix="remove `rope_theta`, or set `positions: rotary`",
            )
        return self
