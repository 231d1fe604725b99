"""Images of different sizes on one sheet, for the pictures of an evaluation."""

import io
from collections.abc import Sequence

from PIL import Image

GAP = 4
"""Pixels around each image."""
MOST_BYTES = 140_000
"""Of a sheet: a report shows what is small (`report.samples.MOST_OF_A_PICTURE`)."""
COLORS = 64
LEAST_SCALE = 0.1


def sheet_of(images: Sequence[Image.Image], *, columns: int) -> bytes:
    """Images in rows of so many, each row as high as its highest image, as a PNG file; empty for no images.

    A sheet of more than 140 kB gets a palette of 64 colors, and then is made smaller until it fits.
    """
    if not images:
        return b""
    sheet = _placed([each.convert("RGB") for each in images], columns)
    content, scale = _png(sheet), 1.0
    while len(content) > MOST_BYTES and scale > LEAST_SCALE:
        size = (max(1, round(sheet.width * scale)), max(1, round(sheet.height * scale)))
        content = _png(sheet.resize(size, Image.Resampling.LANCZOS).quantize(COLORS))
        scale *= 0.8
    return content


def _placed(images: Sequence[Image.Image], columns: int) -> Image.Image:
    rows = [images[start : start + columns] for start in range(0, len(images), columns)]
    heights = [max(each.height for each in row) + GAP for row in rows]
    width = max(sum(each.width + GAP for each in row) for row in rows) + GAP
    sheet = Image.new("RGB", (width, sum(heights) + GAP), "white")
    top = GAP
    for row, height in zip(rows, heights, strict=True):
        left = GAP
        for image in row:
            sheet.paste(image, (left, top))
            left += image.width + GAP
        top += height
    return sheet


def _png(image: Image.Image) -> bytes:
    written = io.BytesIO()
    image.save(written, format="PNG", optimize=True)
    return written.getvalue()
