"""The shape of an autoencoder, in whose latents diffusion models of larger images work."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from trimtab.config.model_settings import ModelSettings
from trimtab.config.positions import PositionSettings
from trimtab.config.presets import filled_from_preset

AutoencoderPreset = Literal["tiny", "small", "base"]

AUTOENCODER_PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 32, "blocks": 1},
    "small": {"dim": 32, "blocks": 3},
    "base": {"dim": 64, "blocks": 3},
}
"""`base` with `reduction: 8` has the sizes of TAESD."""


class AutoencoderModel(ModelSettings):
    """A convolutional autoencoder in the shape of TAESD (github.com/madebyollin/taesd), which `AutoencoderTiny` of
    diffusers loads: residual blocks of three 3x3 convolutions, strided ones between them on the way down, and copied
    pixels on the way up. It is trained on the squared error alone."""

    has_encoder: ClassVar[bool] = True
    no_plan: ClassVar[str] = (
        "an autoencoder has no plan: what its convolutions keep for the backward pass is not known"
    )
    reads_prefix: ClassVar[bool] = False
    tie_embeddings: ClassVar[bool] = False
    attention_dropout: ClassVar[float] = 0.0
    dropout: ClassVar[float] = 0.0
    warm_start: ClassVar[None] = None
    """It always starts from random weights."""
    warm_start_sha256: ClassVar[None] = None
    norm: ClassVar[Literal["layer"]] = "layer"
    """It has none; the compiler's options follow from it."""
    norm_position: ClassVar[Literal["before"]] = "before"
    all_position_settings: ClassVar[tuple[PositionSettings, ...]] = ()
    needs_padding: ClassVar[bool] = False

    kind: Literal["autoencoder"] = "autoencoder"
    preset: AutoencoderPreset | None = None
    """Fills dim and blocks; explicit values take precedence."""
    dim: int = Field(default=0, ge=4, le=1024)
    """Channels of the convolutions; from the preset where one is named."""
    blocks: int = Field(default=0, ge=1, le=16)
    """Residual blocks at each resolution but the highest, which has one."""
    latent_channels: int = Field(default=4, ge=1, le=256)
    """Channels of the latent."""
    reduction: Literal[2, 4, 8, 16] = 8
    """Downsampling factor: pixels of the image per latent cell, in each direction."""
    latent_noise: float = Field(default=0.0, ge=0, le=3)
    """Standard deviation of the noise that training adds to latents, which the decoder limits to between -3 and 3.
    Latents that differ little then mean images that differ little, so that small errors of a diffusion model cost
    little (arXiv 2510.11690, section 4.3)."""

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        return filled_from_preset(value, AUTOENCODER_PRESETS)
