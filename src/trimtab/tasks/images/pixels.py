"""Image files as arrays: opened with care, turned upright, brought to size, padded, and packed into rows of bytes."""

import io
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from trimtab.config.images import ImageConfig
from trimtab.errors import InputError, Problem

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM", "JPEG2000", "TGA")
"""What is opened, as far as Pillow was built with it: no format that runs a program, as EPS does, and none that is
drawn."""
LEAST_SIDE = 2
"""Pixels; nothing can be read in fewer."""
MOST_NAMED = 10
"""Images that an error names."""
ORIENTATION, TURNED = 0x0112, (5, 6, 7, 8)
"""The EXIF tag of how a camera was held, and its values for a quarter turn."""
HEADER = 4
"""Bytes before the pixels of a row: height and width."""


class BadImage(Exception):
    """An image that cannot be read; `reason` is one of few, for counting, and the text says what is wrong with it."""

    def __init__(self, reason: str, found: str) -> None:
        super().__init__(f"{reason}: {found}")
        self.reason, self.found = reason, found


def unreadable(bad: Sequence[tuple[str, BadImage]], *, key: str, count: int, fix: str) -> InputError:
    """The error for a validation set of `count` images of which some, by their places, cannot be read: a score without
    them would be of another set."""
    more = f"; {len(bad):,} of {count:,} images cannot be read" if len(bad) > 1 else ""
    return InputError(
        *(
            Problem(
                what=f"{key}: {place}: {error.reason}",
                got=error.found + (more if number == 0 else ""),
                fix=fix,
            )
            for number, (place, error) in enumerate(bad[:MOST_NAMED])
        )
    )


def load_image(source: Path | bytes, config: ImageConfig) -> Image.Image:
    """An image in the channels of the recipe, upright as its EXIF data say, on white where it is transparent.

    Raises BadImage for what is no image, damaged, of more than `config.max_pixels` (before it is decompressed), or
    smaller than 2 pixels.
    """
    with opening(source, config) as image:
        return in_channels(ImageOps.exif_transpose(image), config)


def check_header(source: Path | bytes, config: ImageConfig) -> None:
    """Raises BadImage for what `load_image` would refuse by its first bytes alone, without reading the pixels."""
    with opening(source, config):
        pass


def size_of(path: Path) -> tuple[float, float] | None:
    """Width and height of an image file, upright, by its first bytes alone; None where it cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=openable()) as image:
                width, height = image.size
                turned = image.getexif().get(ORIENTATION) in TURNED
    except Exception:  # decoders raise errors of any kind; reading the image says which
        return None
    return (float(height), float(width)) if turned else (float(width), float(height))


@contextmanager
def opening(source: Path | bytes, config: ImageConfig) -> Generator[Image.Image, None, None]:
    """An image of a size that is allowed, of which the header is read; whatever goes wrong inside is a BadImage."""
    try:
        with warnings.catch_warnings():
            # Pillow's own, weaker, words on decompression bombs and damaged metadata
            warnings.simplefilter("ignore")
            stream = io.BytesIO(source) if isinstance(source, bytes) else source
            with Image.open(stream, formats=openable()) as image:
                check_size(image.width, image.height, config)
                yield image
    except BadImage:
        raise
    except Image.DecompressionBombError as error:
        raise BadImage("too many pixels", str(error)) from None
    except FileNotFoundError:
        raise BadImage("no such image", str(source)) from None
    except UnidentifiedImageError:
        raise BadImage(
            "unreadable image", f"{beginning(source)}; opened are {', '.join(openable())}"
        ) from None
    except Exception as error:  # decoders raise errors of any kind on damaged files
        said = (str(error).splitlines() or [""])[0][:200]
        raise BadImage("unreadable image", f"{type(error).__name__}: {said}") from None


@cache
def openable() -> tuple[str, ...]:
    """The formats that this build of Pillow opens; it raises KeyError for others that it is asked to try."""
    Image.init()
    return tuple(each for each in FORMATS if each in Image.OPEN)


def beginning(source: Path | bytes) -> str:
    """What the first bytes of a file look like, so that a text or a drawing under another name is recognized."""
    if isinstance(source, Path):
        with open(source, "rb") as file:
            source = file.read(24)
    return f"begins with {source[:24]!r}" if source else "an empty file"


def check_size(width: int, height: int, config: ImageConfig) -> None:
    """Raises BadImage for too many pixels, or too few."""
    if width * height > config.max_pixels:
        most = f"more than data.images.max_pixels {config.max_pixels:,}"
        raise BadImage("too many pixels", f"{width} x {height}, {most}")
    if min(width, height) < LEAST_SIDE:
        raise BadImage("too small", f"{width} x {height} pixels")


def in_channels(image: Image.Image, config: ImageConfig) -> Image.Image:
    """Any mode as 8 bits of grey, or of red, green and blue."""
    wanted = "L" if config.channels == "grey" else "RGB"
    if image.mode.startswith(("I", "F")):
        image = Image.fromarray(eight_bits(np.asarray(image)))
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        over = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB")
    if image.mode not in ("1", "L", "RGB"):
        image = image.convert("RGB")
    return image.convert(wanted)


def eight_bits(values: np.ndarray) -> np.ndarray:
    """Grey of more bits, or in floating point, as 8: 16 bits by their range, other values by theirs."""
    if values.dtype.kind == "f":
        values = np.nan_to_num(values.astype(np.float64), posinf=0, neginf=0)
        top = 1.0 if values.max(initial=0) <= 1 else 255.0 if values.max() <= 255 else values.max()
        return np.clip(values / top * 255, 0, 255).round().astype(np.uint8)
    if values.max(initial=0) <= 255:
        return np.clip(values, 0, 255).astype(np.uint8)
    return np.clip(values.astype(np.int64) // 257, 0, 255).astype(np.uint8)


def fitted_size(width: int, height: int, config: ImageConfig) -> tuple[int, int]:
    """Width and height in pixels to resize to, before padding; wider than `max_width` where it would have to be."""
    if config.fit == "height":
        return max(1, round(width * config.size / height)), config.size
    scale = config.size / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def fitted(image: Image.Image, config: ImageConfig, *, squeeze: bool = True) -> Image.Image:
    """The image at the size of the recipe, larger or smaller than it was, its aspect ratio kept.

    With `fit: height` what is wider than `max_width` is narrowed to it; raises BadImage where the recipe drops such
    images and `squeeze` does not forbid it.
    """
    width, height = fitted_size(*image.size, config)
    if width > config.widest:
        if config.too_wide == "drop" and not squeeze:
            raise BadImage("too wide", f"{width} pixels at height {height}")
        width = config.widest
    # Width first, each side by itself: versions of Pillow differ in which they resize first, and so by a level here and
    # there. `recognition.onnx_pixels` computes the same pixels.
    wide = image.resize((width, image.height), Image.Resampling.BICUBIC)
    return wide.resize((width, height), Image.Resampling.BICUBIC)


def padded(image: Image.Image, multiple: tuple[int, int]) -> np.ndarray:
    """`height width channels`, uint8: padded at the bottom and on the right to multiples, with the median color of its
    edges, so that the padding looks like paper. It is part of the image, and the same whatever stands beside it."""
    pixels = np.asarray(image)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    height, width, channels = pixels.shape
    more = -height % multiple[0], -width % multiple[1]
    if not any(more):
        return pixels
    edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    out = np.empty((height + more[0], width + more[1], channels), np.uint8)
    out[:] = np.median(edges, axis=0).astype(np.uint8)
    out[:height, :width] = pixels
    return out


def to_row(pixels: np.ndarray) -> np.ndarray:
    """An array `height width channels` as bytes that follow its height and width."""
    head = np.array(pixels.shape[:2], "<u2").view(np.uint8)
    return np.concatenate([head, np.ascontiguousarray(pixels).reshape(-1)])


def row_size(row: np.ndarray) -> tuple[int, int]:
    """Height and width of an image in a row of bytes."""
    height, width = np.ascontiguousarray(row[:HEADER]).view("<u2").tolist()
    return height, width


def from_row(row: np.ndarray) -> np.ndarray:
    """The array `height width channels` of a row of bytes, a view."""
    height, width = row_size(row)
    return row[HEADER:].reshape(height, width, -1)
