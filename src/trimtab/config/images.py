"""Images of text lines: resizing, rendering text, and the set of characters."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused

MULTIPLE = 16
"""Both sides of every image are padded to a multiple of this."""


class Augmentation(Settings):
    """Mild changes that keep a line readable, drawn again each time training uses an image. 0 switches one off."""

    probability: float = Field(default=0.5, ge=0, le=1)
    """Probability of each change, except of `invert`."""
    rotation: float = Field(default=1.5, ge=0, le=45)
    """Largest rotation to either side, in degrees."""
    shear: float = Field(default=0.2, ge=0, le=1)
    """Largest slant to either side, in pixels per pixel of height."""
    shift: float = Field(default=0.0, ge=0, le=0.5)
    """Largest shift in each direction, as a share of the height, with `rotation` and `shear`; for images of single
    objects, since it cuts off the ends of lines."""
    blur: float = Field(default=0.8, ge=0, le=10)
    """Largest radius of a Gaussian blur, in pixels of a line 32 pixels high."""
    noise: float = Field(default=12.0, ge=0, le=128)
    """Largest standard deviation of Gaussian noise, of 255 levels."""
    contrast: float = Field(default=0.4, ge=0, le=0.95)
    """Largest reduction of contrast, as a share; the brightness moves within the range that remains."""
    thickness: float = Field(default=0.3, ge=0, le=1)
    """Largest weight of eroding or dilating strokes by a pixel."""
    invert: float = Field(default=0.1, ge=0, le=1)
    """Probability of exchanging light and dark. A model that has seen only one kind of background invents text on
    another."""


class ImageConfig(Settings):
    """How images are resized and changed for the model. Resizing keeps the aspect ratio and enlarges small images."""

    fit: Literal["height", "longest", "crop", "stretch"] = "height"
    """`height` scales every image to a height of `size` pixels, for lines of text; `longest` scales the longest side to
    `size`, for images of any shape; `crop`, for diffusion and image classification, scales the shortest side to it and
    takes the square in the middle. For these, `longest` makes a square with margins in the median color
    of the edges. `stretch`, for pretrained recognizers alone, resizes to a square of `size` pixels,
    whatever the shape of the image, as they were trained."""
    size: int = Field(default=32, ge=16, le=4096, multiple_of=MULTIPLE)
    """Pixels of the side that `fit` names, a multiple of 16; the other side is padded to one."""
    max_width: int = Field(default=1024, ge=16, le=65536, multiple_of=MULTIPLE)
    """With `fit: height`, the widest image, in pixels after resizing."""
    too_wide: Literal["squeeze", "drop"] = "squeeze"
    """Squeeze wider images to `max_width`, or drop them and count them in the ledger. Validation sets always squeeze
    them."""
    channels: Literal["grey", "rgb"] = "grey"
    """The color channels that the model gets."""
    max_pixels: int = Field(default=50_000_000, ge=256, le=2_000_000_000)
    """Images with more pixels are refused before they are decompressed."""
    augment: Augmentation | None = Augmentation.defaults()
    """Random changes of training images; null for none."""

    @property
    def max_height(self) -> int:
        """Of an image that the model reads."""
        return self.size

    @property
    def widest(self) -> int:
        """Of an image that the model reads."""
        return self.max_width if self.fit == "height" else self.size

    @property
    def num_channels(self) -> int:
        """Numbers for each pixel."""
        return 1 if self.channels == "grey" else 3


class CharsetConfig(Settings):
    """The characters that the model can read."""

    file: str | None = None
    """A text file with one character per line, such as PaddleOCR's dictionaries; empty lines are ignored. A training
    text with a character that the file lacks is an error. By default, all characters of the training texts."""
    normalization: Literal["nfc", "nfd", "nfkc", "none"] = "nfc"
    """The Unicode normalization form of texts (UAX 15). NFC makes one character of a letter and its accent."""


class Rendering(Settings):
    """Draws lines of a text as images: `{text: lines.txt, render: {fonts: [/usr/share/fonts/truetype/dejavu]}}`.

    A line looks different each time training uses it; the same seed and version of Pillow give the same images.
    """

    fonts: tuple[str, ...] = Field(min_length=1)
    """Font files (.ttf, .otf, .ttc), or folders to search for them. Each line is drawn with a font that has all its
    characters; lines for which there is none are dropped and counted."""
    size: tuple[int, int] = (20, 44)
    """Smallest and largest type size in pixels, before the image is resized."""
    ink: tuple[int, int] = (0, 110)
    """Darkest and lightest ink, of 255 levels."""
    background: tuple[int, int] = (170, 255)
    """Darkest and lightest background."""
    margin: tuple[float, float] = (-0.04, 0.45)
    """Smallest and largest margin on each side, as a share of the type size; a negative margin cuts into the line."""
    neighbors: float = Field(default=0.15, ge=0, le=1)
    """Probability that parts of a line above or below show at the edge, as in crops of a page."""
    ligatures: float = Field(default=0.5, ge=0, le=1)
    """Probability that a line has the ligatures of its font, such as fi, as in most print and PDF files."""
    jpeg: float = Field(default=0.2, ge=0, le=1)
    """Probability of compressing the image as JPEG and decompressing it, with a quality of 30 to 90."""
    low_resolution: float = Field(default=0.3, ge=0, le=1)
    """Probability of shrinking the image and enlarging it again, as in a coarse scan."""

    @model_validator(mode="after")
    def _ranges(self) -> "Rendering":
        bounds = {"size": (6, 400), "ink": (0, 255), "background": (0, 255), "margin": (-0.3, 3.0)}
        for key, (least, most) in bounds.items():
            low, high = getattr(self, key)
            if not least <= low <= high <= most:
                raise refused(
                    key,
                    "is not a valid range",
                    got=f"[{low}, {high}]",
                    allowed=f"two numbers from {least} to {most}, the smaller one first",
                    fix=f"set `{key}: [{max(least, min(low, high))}, {min(most, max(low, high))}]`",
                )
        if min(self.background) - max(self.ink) < 20:
            raise refused(
                "background",
                "can be as dark as the ink, so that some lines would be unreadable",
                got=f"ink up to {self.ink[1]}, background from {self.background[0]}",
                allowed="a background that is at least 20 levels lighter than the ink",
                fix=f"set `ink: [0, {max(0, self.background[0] - 60)}]`; light text on dark is what `invert` of "
                "data.images.augment makes",
            )
        return self
