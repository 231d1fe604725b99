"""Changes of a training image with its boxes: cut, scaled, mirrored, recolored."""

from typing import NamedTuple

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from trimtab.config.canvas import BoxAugmentation

LEAST_PART = 0.5
"""Of each side that a cut leaves."""


class Annotated(NamedTuple):
    """An image with its boxes, left, top, right and bottom in its pixels, and their categories."""

    image: Image.Image
    boxes: np.ndarray
    categories: np.ndarray


def augmented(given: Annotated, config: BoxAugmentation, *, rng: np.random.Generator) -> Annotated:
    """The image with changes drawn by chance. A box stays while `min_visible` of its area is in the image, and is cut
    off at its edges."""
    draws = rng.random(3)
    if draws[0] < config.crop:
        given = cropped(given, config, rng=rng)
    if config.scale:
        given = scaled(given, config, rng=rng)
    if draws[1] < config.flip:
        given = mirrored(given)
    image = given.image
    if config.color:
        for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
            image = enhance(image).enhance(float(1 + rng.uniform(-config.color, config.color)))
    if draws[2] < config.invert:
        image = ImageOps.invert(image)
    return given._replace(image=image)


def mirrored(given: Annotated) -> Annotated:
    """Left and right exchanged."""
    width = given.image.width
    boxes = given.boxes.copy()
    boxes[:, [0, 2]] = width - given.boxes[:, [2, 0]]
    return given._replace(image=ImageOps.mirror(given.image), boxes=boxes)


def cropped(given: Annotated, config: BoxAugmentation, *, rng: np.random.Generator) -> Annotated:
    """A part of the image, at least half as wide and as high; all of it where the part would show no object though the
    image has some."""
    width, height = given.image.size
    wide, high = (max(2, round(side * rng.uniform(LEAST_PART, 1))) for side in (width, height))
    left, top = int(rng.integers(0, width - wide + 1)), int(rng.integers(0, height - high + 1))
    part = float(left), float(top), float(left + wide), float(top + high)
    found = within(given, part, config.min_visible)
    if len(given.boxes) and not len(found.boxes):
        return given
    return found._replace(image=given.image.crop((left, top, left + wide, top + high)))


def scaled(given: Annotated, config: BoxAugmentation, *, rng: np.random.Generator) -> Annotated:
    """The image larger, and cut to its size, or smaller on a field of its median color; where it is then is drawn too.
    The size of the image stays the same, so that its canvas does."""
    width, height = given.image.size
    factor = (1 - config.scale) ** rng.uniform(-1, 1)
    # The part of the plane that is shown: smaller than the image where it is enlarged.
    wide, high = width / factor, height / factor
    left, top = (rng.uniform(0, 1, 2) * (width - wide, height - high)).tolist()
    fill = _median(given.image)
    image = given.image.transform(
        (width, height),
        Image.Transform.AFFINE,
        (1 / factor, 0, left, 0, 1 / factor, top),
        Image.Resampling.BILINEAR,
        fillcolor=fill,
    )
    found = within(given, (left, top, left + wide, top + high), config.min_visible)
    if len(given.boxes) and not len(found.boxes):
        return given
    return found._replace(image=image, boxes=found.boxes * factor)


def within(given: Annotated, part: tuple[float, float, float, float], least: float) -> Annotated:
    """The boxes that are in a part of the image, from its corner on."""
    left, top, right, bottom = part
    inside = given.boxes.clip([left, top, left, top], [right, bottom, right, bottom])
    areas = (given.boxes[:, 2:] - given.boxes[:, :2]).prod(1)
    seen = (inside[:, 2:] - inside[:, :2]).clip(min=0).prod(1)
    kept = (seen > 0) & (seen >= least * areas)
    return given._replace(boxes=inside[kept] - [left, top, left, top], categories=given.categories[kept])


def _median(image: Image.Image) -> int | tuple[int, ...]:
    small = np.asarray(image.resize((16, 16), Image.Resampling.BOX))
    middle = np.median(small.reshape(256, -1), axis=0).astype(int)
    return int(middle[0]) if len(middle) == 1 else tuple(middle.tolist())
