"""The shape of a vision transformer that gives a square image one of a set of classes."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import PositionSettings
from trimtab.config.presets import check_dim_of_planes, check_heads, filled_from_preset

ImageClassifierPreset = Literal["tiny", "small", "base", "big"]

IMAGE_CLASSIFIER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 128, "heads": 4, "layers": 4, "feed_forward": 512},
    "small": {"dim": 192, "heads": 3, "layers": 12, "feed_forward": 768},
    "base": {"dim": 384, "heads": 6, "layers": 12, "feed_forward": 1536},
    "big": {"dim": 768, "heads": 12, "layers": 12, "feed_forward": 3072},
}
"""`small`, `base` and `big` have the sizes of DeiT-Ti, DeiT-S and ViT-B (arXiv 2012.12877, table 1)."""


class ImageClassifierModel(ModelSettings):
    """A vision transformer (Dosovitskiy et al. 2021, arXiv 2010.11929) over square images of one size, and a linear map
    to the classes."""

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

    kind: Literal["image_classifier"] = "image_classifier"
    preset: ImageClassifierPreset | None = None
    """Fills dim, heads, layers and feed_forward; explicit values take precedence."""
    pool: Literal["mean", "softmax", "class_token"] = "mean"
    """How the outputs are pooled for the linear classifier: the mean over all patches; a weighted mean, with weights
    from the softmax of a linear map; or the output for a learned class token, as in the original ViT."""
    stem: Literal["conv", "patch"] = "conv"
    """How patches are embedded: with 3x3 convolutions of stride 2 (Xiao et al. 2021, arXiv 2106.14881), or with one
    linear map of each patch."""
    patch: Literal[2, 4, 8, 16, 32] = 4
    """Side of a square patch in pixels; it divides `data.images.size`. Halving it makes four times as many tokens."""
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
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """On embeddings and on the output of each sub-layer."""
    drop_path: float = Field(default=0.0, ge=0, lt=1)
    """Stochastic depth (arXiv 1603.09382): the probability that the last layer is skipped for an image. It increases
    linearly from 0 over the layers."""
    positions: Literal["learned", "factorised", "sinusoidal"] = "learned"
    """How the model encodes the position of a patch: a learned vector for each position, the sum of one for the row and
    one for the column (NaViT, arXiv 2307.06304, section 2.1), or fixed sines of both."""
    registers: int = Field(default=0, ge=0, le=64)
    """Learned vectors that are added to the patches of every image and dropped after the last layer (arXiv
    2309.16588)."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467)."""
    qk_norm: bool = False
    """RMSNorm on the queries and keys of each head (arXiv 2302.05442, section 2.1)."""
    activation: Literal["relu", "gelu", "silu", "swish", "swiglu", "geglu"] = "gelu"
    """Of the feed-forward blocks."""
    bias: bool = True
    """Biases in the linear maps of attention and feed-forward blocks."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        return filled_from_preset(value, IMAGE_CLASSIFIER_PRESETS)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "ImageClassifierModel":
        check_dim_of_planes(self.dim)
        check_heads(self.dim, self.heads, self.kv_heads)
        return self

    @property
    def patch_sides(self) -> tuple[int, int]:
        """Height and width of a patch."""
        return self.patch, self.patch

    @property
    def added_tokens(self) -> int:
        """Learned vectors beside the patches; the first one is the class token where there is one."""
        return self.registers + (self.pool == "class_token")
