"""Grids of images, PNG files, and the images of a set that are nearest to others."""

import io

import numpy as np
from PIL import Image

GAP = 2
"""Pixels between the images of a grid."""
AT_ONCE = 1 << 26
"""Numbers that a search compares at once."""


def grid_of(images: np.ndarray, *, columns: int) -> np.ndarray:
    """Images `images height width channels`, uint8, in rows of so many on white."""
    count, height, width, channels = images.shape
    rows = -(-count // columns)
    out = np.full((rows * (height + GAP) + GAP, columns * (width + GAP) + GAP, channels), 255, np.uint8)
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        top, left = GAP + row * (height + GAP), GAP + column * (width + GAP)
        out[top : top + height, left : left + width] = image
    return out


def png_of(pixels: np.ndarray) -> bytes:
    """An image `height width channels`, uint8, as a PNG file."""
    written = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(written, format="PNG")
    return written.getvalue()


def nearest(images: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of `images numbers`, uint8, the number of the one of `among` with the smallest Euclidean distance,
    int64, and the root mean square of the differences, in levels from 0 to 255."""
    given, others = images.astype(np.float32), among.astype(np.float32)
    best, distances = np.zeros(len(given), np.int64), np.full(len(given), np.inf)
    lengths = np.square(given).sum(1)
    size = max(1, AT_ONCE // max(1, given.shape[1]))
    for start in range(0, len(others), size):
        part = others[start : start + size]
        squares = lengths[:, None] - 2 * given @ part.T + np.square(part).sum(1)
        found = squares.argmin(1)
        smallest = squares[np.arange(len(given)), found]
        better = smallest < distances
        best[better], distances[better] = found[better] + start, smallest[better]
    # Again and exactly, since differences of large squares lose their last digits.
    exact = np.square(given - others[best]).mean(1) if len(others) else distances
    return best, np.sqrt(exact)
