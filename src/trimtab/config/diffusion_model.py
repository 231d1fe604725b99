"""The shape of a diffusion transformer, what it predicts, and how images are sampled from it."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.layer_parts import Activation
from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import PositionSettings
from trimtab.config.presets import check_dim_of_planes, check_heads, filled_from_preset
from trimtab.config.settings import Settings

DiffusionPreset = Literal["tiny", "small", "base", "big"]
Prediction = Literal["flow", "epsilon", "v", "x0"]
SamplerName = Literal["euler", "ddim"]

DIFFUSION_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 128, "heads": 4, "layers": 4, "feed_forward": 512},
    "small": {"dim": 256, "heads": 4, "layers": 8, "feed_forward": 1024},
    "base": {"dim": 384, "heads": 6, "layers": 12, "feed_forward": 1536},
    "big": {"dim": 768, "heads": 12, "layers": 12, "feed_forward": 3072},
}
"""`base` and `big` have the sizes of DiT-S and DiT-B (arXiv 2212.09748, table 1)."""


class Sampling(Settings):
    """How images are sampled in evaluations, and by `trimtab sample` where it is not told otherwise."""

    sampler: SamplerName = "euler"
    """`euler` integrates the probability flow in equal steps of time; `ddim` is the deterministic sampler of DDIM
    (arXiv 2010.02502, equation 12). With `prediction: flow` they are the same."""
    steps: int = Field(default=50, ge=1, le=10_000)
    """Passes of the model for an image, each of two images where there is guidance."""
    guidance: float = Field(default=2.0, ge=0, le=100)
    """Scale of classifier-free guidance (arXiv 2207.12598): 1 is the model as it is, 0 ignores the class, larger values
    make images more typical and less varied. Without classes it has no effect."""


class DiffusionModel(ModelSettings):
    """A diffusion transformer (DiT, Peebles and Xie 2022, arXiv 2212.09748) over the pixels of square images, or over
    their latents, with adaLN-Zero, conditioned on the time and, where images have labels, on the class."""

    has_encoder: ClassVar[bool] = True
    no_plan: ClassVar[str] = "a model of images has no plan: what it keeps for the backward pass is not known"
    reads_prefix: ClassVar[bool] = False
    tie_embeddings: ClassVar[bool] = False
    attention_dropout: ClassVar[float] = 0.0
    warm_start: ClassVar[None] = None
    """It always starts from random weights."""
    warm_start_sha256: ClassVar[None] = None
    norm_position: ClassVar[Literal["before"]] = "before"
    rezero: ClassVar[bool] = False
    experts: ClassVar[None] = None
    all_position_settings: ClassVar[tuple[PositionSettings, ...]] = ()
    """Its positions are planes of rows and columns."""
    needs_padding: ClassVar[bool] = False

    kind: Literal["diffusion_transformer"] = "diffusion_transformer"
    preset: DiffusionPreset | None = None
    """Fills dim, heads, layers and feed_forward; what is written beside it wins."""
    prediction: Prediction = "flow"
    """What the model predicts of an image with noise. `flow` is the velocity from the image to the noise on a straight
    line (rectified flow, arXiv 2209.03003; flow matching, arXiv 2210.02747). `epsilon` (the noise, arXiv 2006.11239),
    `x0` (the image) and `v` (arXiv 2202.00512, section 4) are on the cosine schedule, with `cos(pi t / 2)` of the image
    and `sin(pi t / 2)` of the noise at time t from 0 to 1."""
    times: Literal["uniform", "logit_normal"] = "uniform"
    """Distribution of the times that are trained on; `logit_normal` has more of the middle (arXiv 2403.03206, section
    3.1)."""
    shift: float = Field(default=1.0, gt=0, le=100)
    """Moves times toward the noise, `t' = s t / (1 + (s - 1) t)` (arXiv 2403.03206, equation 23): above 1 for large
    images, in which the same noise hides less. Training and sampling use it alike, once."""
    weighting: Literal["none", "min_snr"] = "none"
    """`min_snr` weights the squared error of each image so that it counts `min(SNR, snr_gamma)` times the error of the
    image itself (arXiv 2303.09556, section 3.4), whatever the model predicts. The reported loss has no weights."""
    snr_gamma: float = Field(default=5.0, gt=0, le=1e6)
    """The bound of `min_snr`."""
    class_dropout: float = Field(default=0.1, ge=0, lt=1)
    """How often the class of an image is hidden in training, which guidance needs."""
    autoencoder: str | None = None
    """A RUN with `model: {kind: autoencoder}`, or a folder that `AutoencoderTiny` of diffusers saved, such as TAESD's,
    relative to the recipe's folder. The model then works in its latents (arXiv 2112.10752, section 3.2), brought to
    zero mean and unit variance by the statistics of the training images. The run keeps a copy of both. By default the
    model works in pixels."""
    patch: int = Field(default=4, ge=1, le=64)
    """Side of a square patch, in pixels or in cells of latents; it divides `data.images.size`, or the side of latents.
    Halving it makes four times as many tokens."""
    dim: int = Field(default=0, ge=8, le=65536)
    """Width of the residual stream; from the preset where one is named."""
    heads: int = Field(default=0, ge=1, le=1024)
    """Attention heads; they divide dim."""
    kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of keys and values, each shared by as many heads of queries (arXiv 2305.13245, section 2.2). By default as
    many as `heads`."""
    layers: int = Field(default=0, ge=1, le=1000)
    """Layers."""
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Width between the two linear maps of a feed-forward block."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """On the output of each sub-layer."""
    positions: Literal["learned", "factorised", "sinusoidal"] = "sinusoidal"
    """How the model encodes the position of a patch: fixed sines of its row and column, a learned vector for each
    position, or the sum of one for the row and one for the column."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467), without gains, which follow from time and class."""
    qk_norm: bool = True
    """RMSNorm on the queries and keys of each head (arXiv 2302.05442, section 2.1)."""
    activation: Activation = "gelu"
    """Of the feed-forward blocks."""
    bias: bool = True
    """Biases in the linear maps of attention and feed-forward blocks."""
    sampling: Sampling = Sampling.defaults()
    """How images are sampled in evaluations, and by default later."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        return filled_from_preset(value, DIFFUSION_PRESETS)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "DiffusionModel":
        check_dim_of_planes(self.dim)
        check_heads(self.dim, self.heads, self.kv_heads)
        return self
