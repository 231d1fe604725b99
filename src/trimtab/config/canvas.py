"""The canvas that an image is brought to before a detector sees it, and what changes it in training."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.images import ImageConfig
from trimtab.config.settings import Settings, refused

LARGEST_SIDE = 4096


class BoxAugmentation(Settings):
    """Changes of training images and their boxes, drawn again each time an image is used. 0 switches one off."""

    flip: float = Field(default=0.0, ge=0, le=1)
    """Probability of mirroring left and right; 0.5 is usual for photographs, and 0 for anything with text."""
    scale: float = Field(default=0.3, ge=0, lt=1)
    """The image is scaled by a factor from 1 - this to 1 / (1 - this); what then lies outside of the canvas is cut off,
    and what is left free is padding."""
    crop: float = Field(default=0.3, ge=0, le=1)
    """Probability of cutting the image to a part of it, at least half as wide and as high."""
    min_visible: float = Field(default=0.3, gt=0, le=1)
    """A box stays if at least this share of its area is inside after a cut; others go, and are counted as cut off."""
    color: float = Field(default=0.3, ge=0, lt=1)
    """Largest change of brightness, contrast and saturation, as a share of each."""
    invert: float = Field(default=0.0, ge=0, le=1)
    """Probability of exchanging light and dark."""


class CanvasConfig(Settings):
    """How images are brought to size for a detector. Images may have any size; small ones are enlarged."""

    fit: Literal["letterbox", "native", "squash"] = "letterbox"
    """`letterbox` scales the image into a square of `size`, keeps its aspect ratio and fills the rest up at the right
    and at the bottom. `native` gives each image a canvas of its own aspect ratio with as many pixels, so that next to
    nothing is filled up; images are batched with those of the same canvas. `squash` stretches the image to the square,
    as the reference code of D-FINE, RT-DETR and DEIM does."""
    size: int = Field(default=640, ge=32, le=LARGEST_SIDE)
    """Side of the square in pixels, or with `native` the root of the number of pixels; a multiple of `multiple`."""
    multiple: int = Field(default=32, ge=32, le=512, multiple_of=32)
    """Both sides of a canvas are multiples of this. Larger ones with `native` mean fewer different canvases, so that
    more images share a batch."""
    channels: Literal["rgb", "grey"] = "rgb"
    """`grey` reads images without their colors; the model sees three equal channels either way."""
    max_pixels: int = Field(default=100_000_000, ge=256, le=2_000_000_000)
    """Images with more pixels are refused before they are decompressed."""
    augment: BoxAugmentation | None = BoxAugmentation.defaults()
    """Random changes of training images; null for none."""

    @model_validator(mode="after")
    def _in_multiples(self) -> "CanvasConfig":
        if self.size % self.multiple:
            nearest = max(1, round(self.size / self.multiple)) * self.multiple
            raise refused(
                "size",
                "is not a multiple of `multiple`",
                got=f"size {self.size}, multiple {self.multiple}",
                allowed=f"a multiple of {self.multiple}",
                fix=f"set `size: {nearest}`",
            )
        return self

    @property
    def reading(self) -> ImageConfig:
        """How image files are opened."""
        return ImageConfig(channels=self.channels, max_pixels=self.max_pixels, augment=None)
