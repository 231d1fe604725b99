import io

import numpy as np
import pytest
from PIL import Image

from trimtab.tasks.images.sheet import GAP, MOST_BYTES, sheet_of


def opened(content):
    return Image.open(io.BytesIO(content))


def test_images_of_different_sizes_keep_their_pixels():
    red, blue = Image.new("RGB", (30, 10), "red"), Image.new("RGB", (20, 40), "blue")
    sheet = opened(sheet_of([red, blue, Image.new("L", (8, 8), 0)], columns=2)).convert("RGB")
    assert sheet.size == (30 + 20 + 3 * GAP, 40 + 8 + 3 * GAP)
    assert sheet.getpixel((GAP, GAP)) == (255, 0, 0)
    assert sheet.getpixel((30 + 2 * GAP, GAP + 39)) == (0, 0, 255)
    assert sheet.getpixel((GAP, 40 + 2 * GAP)) == (0, 0, 0)
    assert sheet.getpixel((0, 0)) == (255, 255, 255)


def test_no_images_are_no_sheet():
    assert sheet_of([], columns=2) == b""


@pytest.mark.parametrize("side", [50, 500, pytest.param(1200, marks=pytest.mark.slow)])
def test_a_sheet_is_small_whatever_is_on_it(side):
    noise = np.random.default_rng(1).integers(0, 256, (side, side, 3), dtype=np.uint8)
    content = sheet_of([Image.fromarray(noise)], columns=1)
    assert len(content) <= MOST_BYTES
    assert opened(content).format == "PNG"
