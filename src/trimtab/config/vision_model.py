"""The shape of a model that reads images: a vision transformer with heads that write text."""

import math
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, model_validator

from trimtab.config.layer_parts import Activation
from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import PositionSettings, position_settings
from trimtab.config.presets import check_heads, filled_from_preset
from trimtab.config.settings import refused

VisionPreset = Literal["tiny", "small", "base", "big"]

VISION_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 128, "heads": 4, "layers": 3, "feed_forward": 512, "decoder_layers": 2},
    "small": {"dim": 256, "heads": 4, "layers": 6, "feed_forward": 1024, "decoder_layers": 3},
    "base": {"dim": 512, "heads": 8, "layers": 8, "feed_forward": 2048, "decoder_layers": 4},
    "big": {"dim": 768, "heads": 12, "layers": 12, "feed_forward": 3072, "decoder_layers": 6},
}


class VisionModel(ModelSettings):
    """A vision transformer (Dosovitskiy et al. 2021, arXiv 2010.11929) over images of any size, whose output is read
    column by column (CTC), by a decoder of characters, or by both."""

    has_encoder: ClassVar[bool] = True
    explains_recording: ClassVar[bool] = True
    no_plan: ClassVar[str] = "a model of images has no plan: what it keeps for the backward pass is not known"
    reads_prefix: ClassVar[bool] = False
    tie_embeddings: ClassVar[bool] = True
    """The decoder's characters are embedded and scored by one matrix."""
    attention_dropout: ClassVar[float] = 0.0
    warm_start: ClassVar[None] = None
    """It always starts from random weights."""
    warm_start_sha256: ClassVar[None] = None
    norm_position: ClassVar[Literal["before"]] = "before"
    rezero: ClassVar[bool] = False
    experts: ClassVar[None] = None
    qk_norm: ClassVar[bool] = False

    kind: Literal["vision"] = "vision"
    preset: VisionPreset | None = None
    """Fills dim, heads, layers, feed_forward and decoder_layers; explicit values take precedence."""
    head: Literal["ctc", "attention", "both"] = "ctc"
    """What writes the text. `ctc` scores each column of the image (connectionist temporal classification, Graves et al.
    2006), learns quickly, and never repeats itself. `attention` is an autoregressive decoder of characters that attends
    to the image, as TrOCR's (arXiv 2109.10282): it knows what text looks like, needs far more training, and can loop.
    `both` trains the decoder with CTC as a second loss on the encoder."""
    ctc_weight: float = Field(default=0.3, gt=0, lt=1)
    """With `head: both`, the share of the CTC loss in the objective (arXiv 1609.06773, equation 14)."""
    stem: Literal["conv", "patch"] = "conv"
    """How patches are embedded: with 3x3 convolutions of stride 2 (Xiao et al. 2021, arXiv 2106.14881), or with one
    linear map of each patch."""
    patch: tuple[int, int] = (32, 4)
    """Height and width of a patch in pixels; powers of two. CTC needs narrow patches, at least one for
    each character and one more between equal ones; 16 by 16 is usual for the decoder alone."""
    dim: int = Field(default=0, ge=8, le=65536)
    """Width of the residual stream; from the preset where one is named."""
    heads: int = Field(default=0, ge=1, le=1024)
    """Attention heads; they divide dim."""
    kv_heads: int | None = Field(default=None, ge=1, le=1024)
    """Heads of keys and values, each shared by as many heads of queries (arXiv 2305.13245, section 2.2). By default as
    many as `heads`."""
    layers: int = Field(default=0, ge=1, le=1000)
    """Layers of the encoder."""
    decoder_layers: int = Field(default=2, ge=1, le=1000)
    """Layers of the decoder, where the head has one."""
    feed_forward: int = Field(default=0, ge=8, le=1_000_000)
    """Width between the two linear maps of a feed-forward block."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """On embeddings and on the output of each sub-layer."""
    drop_path: float = Field(default=0.0, ge=0, lt=1)
    """Stochastic depth (arXiv 1603.09382): how often the last layer of the encoder is skipped for an image; earlier
    layers less often, in a line from 0."""
    positions: Literal["learned", "factorised", "sinusoidal"] = "learned"
    """How the encoder represents the position of a patch (row and column, counted from the top left corner of its own
    image): a learned vector for each position, the sum of one for the row and one for the column (NaViT, arXiv
    2307.06304, section 2.1), or fixed sines of both."""
    registers: int = Field(default=0, ge=0, le=64)
    """Learned vectors that are added to the patches of every image and dropped after the last layer (arXiv
    2309.16588)."""
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467)."""
    activation: Activation = "gelu"
    """Of the feed-forward blocks."""
    bias: bool = True
    """Biases in the linear maps of attention and feed-forward blocks."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        if isinstance(value, dict):
            given = cast("dict[str, Any]", value)
            if given.get("head", "ctc") == "ctc" and given.get("preset") is None:
                value = {"decoder_layers": 2, **given}  # there is no decoder that they could be of
        return filled_from_preset(value, VISION_PRESETS)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "VisionModel":
        if self.dim % 4:
            raise ValueError(f"dim: got {self.dim}; allowed is a multiple of 4")
        check_heads(self.dim, self.heads, self.kv_heads)
        for side in self.patch:
            if not 2 <= side <= 64 or side & (side - 1):
                raise refused(
                    "patch",
                    "the sides of a patch are no powers of two",
                    got=str(list(self.patch)),
                    allowed="height and width, each 2, 4, 8, 16, 32 or 64",
                    fix="set `patch: [32, 4]` for lines 32 pixels high, or `patch: [16, 16]` for a decoder alone",
                )
        return self

    @property
    def decoder(self) -> "VisionModel":
        """The settings of the decoder's layers, with as many heads of keys as there are."""
        return self.model_copy(update={"kv_heads": self.kv_heads or self.heads})

    @property
    def patch_sides(self) -> tuple[int, int]:
        """Height and width of a patch."""
        return self.patch

    @property
    def added_tokens(self) -> int:
        """Learned vectors beside the patches."""
        return self.registers

    @property
    def has_ctc(self) -> bool:
        """Whether columns are scored."""
        return self.head != "attention"

    @property
    def has_decoder(self) -> bool:
        """Whether there is a decoder of characters."""
        return self.head != "ctc"

    @property
    def multiple(self) -> tuple[int, int]:
        """Height and width in pixels that images are padded to multiples of."""
        return math.lcm(16, self.patch[0]), math.lcm(16, self.patch[1])

    @property
    def target_position_settings(self) -> PositionSettings:
        """What the decoder's positions are and do."""
        return position_settings("sinusoidal")

    @property
    def all_position_settings(self) -> tuple[PositionSettings, ...]:
        """Those of the decoder; the encoder's are planes of rows and columns."""
        return (self.target_position_settings,)

    @property
    def needs_padding(self) -> bool:
        """Whether attention must run over padded rows: never."""
        return False
