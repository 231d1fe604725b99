"""Images of text lines: how they are brought to size, how a text is rendered, and which characters there are."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused

MULTIPLE = 16
"""Both sides of every image are padded to a multiple of this."""


class Augmentation(Settings):
    """Mild changes that keep a line readable, drawn anew each time an image is seen in training. 0 leaves one out."""

    probability: float = Field(default=0.5, ge=0, le=1)
    """How often each of them is applied, apart from `invert`."""
    rotation: float = Field(default=1.5, ge=0, le=45)
    """Rotation by up to so many degrees to either side."""
    shear: float = Field(default=0.2, ge=0, le=1)
    """Slant by up to so many pixels sideways for each pixel of height, to either side."""
    blur: float = Field(default=0.8, ge=0, le=10)
    """Gaussian blur with a radius of up to so many pixels of a line 32 pixels high."""
    noise: float = Field(default=12.0, ge=0, le=128)
    """Gaussian noise with a standard deviation of up to so many of 255 levels."""
    contrast: float = Field(default=0.4, ge=0, le=0.95)
    """Contrast lowered by up to this share, and brightness moved within what that leaves."""
    thickness: float = Field(default=0.3, ge=0, le=1)
    """Strokes eroded or dilated by a pixel, with up to this weight."""
    invert: float = Field(default=0.1, ge=0, le=1)
    """How often light and dark are exchanged. A model that has seen one kind of background alone invents text on
    another."""


class ImageConfig(Settings):
    """How images become what the model reads. The aspect ratio is always kept, and small images are enlarged."""

    fit: Literal["height", "longest"] = "height"
    """`height` brings every image to `size` pixels of height, whatever its width, as lines of text need it; `longest`
    brings the longest side to `size`, for images of any shape."""
    size: int = Field(default=32, ge=16, le=4096, multiple_of=MULTIPLE)
    """Pixels of the side that `fit` names, a multiple of 16; the other side is padded to one."""
    max_width: int = Field(default=1024, ge=16, le=65536, multiple_of=MULTIPLE)
    """With `fit: height`, the widest image, in pixels after resizing."""
    too_wide: Literal["squeeze", "drop"] = "squeeze"
    """What happens to wider ones: narrowed to `max_width`, or dropped and counted in the ledger. A validation set is
    never dropped from: there they are always squeezed."""
    channels: Literal["grey", "rgb"] = "grey"
    """What is read of the colors."""
    max_pixels: int = Field(default=50_000_000, ge=256, le=2_000_000_000)
    """Images with more pixels are refused before they are decompressed."""
    augment: Augmentation | None = Augmentation()
    """Changes of the images in training; null for none."""

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
    """The characters that can be read."""

    file: str | None = None
    """A text file with a character on each line, as PaddleOCR's dictionaries have them; an empty line is left out. By
    default every character of the training texts, and a training text with a character that the file lacks is an
    error."""
    normalization: Literal["nfc", "nfd", "nfkc", "none"] = "nfc"
    """The Unicode form (UAX 15) that texts are brought to. NFC makes one character of a letter and its accent."""


class Rendering(Settings):
    """Draws lines of a text as images: `{text: lines.txt, render: {fonts: [/usr/share/fonts/truetype/dejavu]}}`.

    Every line looks different each time it is seen; the same seed gives the same images with the same version of
    Pillow.
    """

    fonts: tuple[str, ...] = Field(min_length=1)
    """Files (.ttf, .otf, .ttc), or folders in which they are searched. A line is drawn with a font that has all its
    characters; lines for which there is none are dropped and counted."""
    size: tuple[int, int] = (20, 44)
    """Smallest and largest size of the type in pixels, before the image is brought to size."""
    ink: tuple[int, int] = (0, 110)
    """Darkest and lightest ink, of 255 levels."""
    background: tuple[int, int] = (170, 255)
    """Darkest and lightest background."""
    margin: tuple[float, float] = (-0.04, 0.45)
    """Smallest and largest margin on each side, as a share of the size of the type; a negative one cuts into the
    line."""
    neighbors: float = Field(default=0.15, ge=0, le=1)
    """How often parts of a line above or below show at the edge, as in crops of a page."""
    ligatures: float = Field(default=0.5, ge=0, le=1)
    """How often a line has the ligatures of its font, such as that of f and i, as most print and PDF files have them.
    """
    jpeg: float = Field(default=0.2, ge=0, le=1)
    """How often the image is compressed as JPEG and decompressed again, with a quality of 30 to 90."""
    low_resolution: float = Field(default=0.3, ge=0, le=1)
    """How often the image is made smaller and larger again, as a coarse scan is."""

    @model_validator(mode="after")
    def _ranges(self) -> "Rendering":
        bounds = {"size": (6, 400), "ink": (0, 255), "background": (0, 255), "margin": (-0.3, 3.0)}
        for key, (least, most) in bounds.items():
            low, high = getattr(self, key)
            if not least <= low <= high <= most:
                raise refused(
                    key,
                    "is no range",
                    got=f"[{low}, {high}]",
                    allowed=f"two numbers from {least} to {most}, the smaller one first",
                    fix=f"set `{key}: [{max(least, min(low, high))}, {min(most, max(low, high))}]`",
                )
        if min(self.background) - max(self.ink) < 20:
            raise refused(
                "background",
                "is as dark as the ink, so that some lines could not be read",
                got=f"ink up to {self.ink[1]}, background from {self.background[0]}",
                allowed="a background that is at least 20 levels lighter than the ink",
                fix=f"set `ink: [0, {max(0, self.background[0] - 60)}]`; light text on dark is what `invert` of "
                "data.images.augment makes",
            )
        return self
