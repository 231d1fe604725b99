"""Lines of text drawn as images: font, size, ink, background, margins and the marks of a scan are drawn by chance."""

import io
import unicodedata
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont, ImageOps, features

from trimtab.config.images import Augmentation, Rendering
from trimtab.tasks.images.fonts import FontSet
from trimtab.tasks.images.pixels import BadImage

NO_FONT = "no font has its characters"
MOST_CHARACTERS = 2000
"""Of a line that is drawn; a page is none."""
LIGATURES = {"ffi": "\ufb03", "ffl": "\ufb04", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02"}
"""The longest first; a font without the character has none, or has it by its own tables alone."""
SHAPED = features.check("raqm")
"""Whether Pillow lays text out by the tables of the font, for which it needs the library FriBiDi."""


def render_line(
    text: str,
    config: Rendering,
    fonts: FontSet,
    *,
    rng: np.random.Generator,
    channels: Literal["grey", "rgb"] = "grey",
) -> Image.Image:
    """An image of the line, in which every character is drawn by a font that has it.

    Raises BadImage for a line without a character to see, of more than 2,000, or for which there is no font.
    """
    usable = fonts.covering(text)
    if not text.strip():
        raise BadImage("nothing to draw", repr(text[:20]))
    if len(text) > MOST_CHARACTERS:
        raise BadImage("too long to draw", f"{len(text):,} characters")
    if not SHAPED and any(unicodedata.bidirectional(each) in ("R", "AL") for each in text):
        raise BadImage("needs FriBiDi to be drawn from right to left", repr(text[:20]))
    if not usable:
        missing = fonts.missing(text)
        raise BadImage(NO_FONT, f"{', '.join(missing[:5]) or 'no font has all of them'} of {text[:40]!r}")
    low, high = config.size
    size = int(rng.integers(low, high + 1))
    number = usable[int(rng.integers(len(usable)))]
    ink = drawn(text, fonts, number, size=size, config=config, rng=rng)
    return on_paper(ink, config, rng=rng, channels=channels)


def drawn(
    text: str, fonts: FontSet, number: int, *, size: int, config: Rendering, rng: np.random.Generator
) -> Image.Image:
    """How much ink is at each pixel, 0 to 255, of the line with its margins."""
    font = fonts.font(number, size)
    text, settings = typeset(text, fonts.covered[number], joined=rng.random() < config.ligatures)
    left, top, right, bottom = font.getbbox(text, features=settings)
    if right <= left or bottom <= top:
        raise BadImage("nothing to draw", f"{text[:40]!r} is empty in {fonts.paths[number]}")
    least, most = config.margin
    margins = np.rint(rng.uniform(least, most, 4) * size).astype(int).tolist()
    # A cut into the line takes nothing from its ends, where a character would be lost.
    before, after, above, below = max(1, margins[0]), max(1, margins[1]), margins[2], margins[3]
    width = int(right - left) + before + after
    height = max(8, int(bottom - top) + above + below)
    image = Image.new("L", (width, height), 0)
    draw = ImageDraw.Draw(image)
    if rng.random() < config.neighbors:
        _neighbor(draw, text, font, width=width, height=height, rng=rng)
    draw.text((before - left, above - top), text, fill=255, font=font, features=settings)
    return image


def typeset(text: str, covered: frozenset[int], *, joined: bool) -> tuple[str, list[str] | None]:
    """The characters to draw and the settings of the font, with its ligatures or without.

    Where Pillow does not apply the tables of the font, the characters of Unicode for its ligatures take their place.
    """
    if SHAPED:
        return text, None if joined else ["-liga"]
    if joined:
        for letters, ligature in LIGATURES.items():
            if ord(ligature) in covered:
                text = text.replace(letters, ligature)
    return text, None


def _neighbor(
    draw: ImageDraw.ImageDraw,
    text: str,
    font: ImageFont.FreeTypeFont,
    *,
    width: int,
    height: int,
    rng: np.random.Generator,
) -> None:
    """The feet of the line above, or the heads of the line below, a few pixels of them."""
    words = text.split()
    rng.shuffle(words)
    other = " ".join(words)
    _, top, _, bottom = draw.textbbox((0, 0), other, font=font)
    shown = int(rng.integers(1, max(2, int(bottom - top) // 5) + 1))
    x = -int(rng.integers(0, max(1, width // 4)))
    above = rng.random() < 0.5
    y = shown - bottom if above else height - shown - top
    draw.text((x, y), other, fill=255, font=font)


def on_paper(
    ink: Image.Image, config: Rendering, *, rng: np.random.Generator, channels: Literal["grey", "rgb"]
) -> Image.Image:
    """Ink on a background of uneven brightness, with the marks of a coarse scan and of compression."""
    ground, dark = rng.uniform(*config.background), rng.uniform(*config.ink)
    coverage = np.asarray(ink, np.float32) / 255
    if rng.random() < config.low_resolution:
        scale = rng.uniform(0.45, 0.9)
        small = (max(4, round(ink.width * scale)), max(4, round(ink.height * scale)))
        resample = Image.Resampling.BILINEAR
        coverage = np.asarray(ink.resize(small, resample).resize(ink.size, resample), np.float32) / 255
    height, width = coverage.shape
    slope = rng.normal(0, 8, 2)
    light = ground + slope[0] * np.linspace(-1, 1, width, dtype=np.float32)
    light = light + slope[1] * np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    values = light + (dark - light) * coverage
    if channels == "rgb":
        tints = rng.normal(0, 12, (2, 3)).astype(np.float32)
        values = values[..., None] + tints[0] * (1 - coverage[..., None]) + tints[1] * coverage[..., None]
    image = Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))
    if rng.random() < config.jpeg:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=int(rng.integers(30, 91)))
        image = Image.open(buffer)
        image.load()
    return image


def augmented(image: Image.Image, config: Augmentation, *, rng: np.random.Generator) -> Image.Image:
    """The image at its size with mild changes, drawn by chance."""
    draws = rng.random(6)
    height = image.height
    if draws[0] < config.probability and (config.rotation or config.shear or config.shift):
        image = _slanted(image, config, rng=rng)
    if draws[1] < config.probability and config.thickness:
        edge = extreme_of_neighbors(image, least=rng.random() < 0.5)
        image = Image.blend(image, edge, rng.uniform(0, config.thickness))
    if draws[2] < config.probability and config.blur:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, config.blur) * height / 32))
    values = None
    if draws[3] < config.probability and config.contrast:
        values = np.asarray(image, np.float32)
        keep = 1 - rng.uniform(0, config.contrast)
        values = values * keep + rng.uniform(0, 255 * (1 - keep))
    if draws[4] < config.probability and config.noise:
        values = np.asarray(image, np.float32) if values is None else values
        values = values + rng.standard_normal(values.shape, np.float32) * rng.uniform(0, config.noise)
    if values is not None:
        image = Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))
    return ImageOps.invert(image) if draws[5] < config.invert else image


def extreme_of_neighbors(image: Image.Image, *, least: bool) -> Image.Image:
    """Each pixel the darkest, or the lightest, of the three by three around it: Pillow's MinFilter and MaxFilter of
    size 3, which sort all nine values, in a tenth of their time or less."""
    better = np.minimum if least else np.maximum
    pixels = np.asarray(image)
    for axis in (0, 1):
        moved = pixels.swapaxes(0, axis)
        most = moved.copy()
        better(most[1:], moved[:-1], out=most[1:])
        better(most[:-1], moved[1:], out=most[:-1])
        pixels = most.swapaxes(0, axis)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _slanted(image: Image.Image, config: Augmentation, *, rng: np.random.Generator) -> Image.Image:
    """Rotated and slanted about the middle and shifted, filled with the color of the edges. A rotation moves the ends
    of a long line by at most an eighth of its height, so that it never takes them out of the image."""
    width, height = image.size
    most = min(np.deg2rad(config.rotation), np.arctan(height / 4 / max(1, width)))
    angle, lean = rng.uniform(-most, most), rng.uniform(-config.shear, config.shear)
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    x, y = width / 2, height / 2
    right, down = rng.uniform(-config.shift, config.shift, 2) * height if config.shift else (0.0, 0.0)
    a, b, d, e = cos, sin + lean, -sin, cos
    pixels = np.asarray(image)
    edges = np.concatenate([pixels[0], pixels[-1]])
    fill = np.median(edges, axis=0)
    color = int(fill) if pixels.ndim == 2 else tuple(int(each) for each in fill)
    return image.transform(
        image.size,
        Image.Transform.AFFINE,
        (a, b, x + right - a * x - b * y, d, e, y + down - d * x - e * y),
        Image.Resampling.BILINEAR,
        fillcolor=color,
    )
