"""Images as a user gives them to a trained model: paths, files in memory, Pillow images, arrays."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from trimtab.config.images import ImageConfig
from trimtab.errors import input_error
from trimtab.tasks.images.pixels import BadImage, check_size, in_channels, load_image

Given = Path | str | bytes | Image.Image | np.ndarray
"""A path, the bytes of a file, a Pillow image, or an array `height width` or `height width 3` of 8 bits."""


def each_given(images: Iterable[Given]) -> Iterator[Given]:
    """One after another; InputError for one image in place of a list."""
    if isinstance(images, str | bytes | Path | Image.Image | np.ndarray):
        raise input_error(
            "images: one image in place of a list",
            got=type(images).__name__,
            allowed="a list of images",
            fix="write [image]",
        )
    return iter(images)


def name_of(given: Given) -> str:
    """Its path; empty for one that has none."""
    return str(given) if isinstance(given, str | Path) else ""


def opened(given: Given, config: ImageConfig) -> Image.Image:
    """An image upright and in the channels of the recipe, but not yet of its size. Raises BadImage."""
    match given:
        case str() | Path() | bytes():
            return load_image(Path(given) if isinstance(given, str) else given, config)
        case np.ndarray():
            try:
                image = Image.fromarray(given)
            except (TypeError, ValueError) as error:
                found = f"an array {given.shape} {given.dtype}: {error}"
                raise BadImage("unreadable image", found) from None
        case _:
            image = given
    check_size(image.width, image.height, config)
    return in_channels(image, config)
