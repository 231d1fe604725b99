"""Every task on images reads images alike: turned upright, with 8 bits, light where they are light; or says why not."""

import io

import pytest
from PIL import Image

from tests.for_each import for_each
from tests.tasks.images.test_pixels import encoded, gradient, huge_png
from trimtab.config.canvas import CanvasConfig
from trimtab.config.images import ImageConfig
from trimtab.tasks.detection.letterbox import Letterbox
from trimtab.tasks.images.given import opened
from trimtab.tasks.images.labelled import squared
from trimtab.tasks.images.pixels import BadImage, fitted, padded

LINES = ImageConfig(max_width=128)
CROPPED = ImageConfig(fit="crop", size=16, channels="rgb")
WHOLE = ImageConfig(fit="longest", size=32, channels="rgb")
CANVAS = CanvasConfig(fit="native", size=64)


def on_canvas(raw):
    image = opened(raw, CANVAS.reading)
    return Letterbox.of(*image.size, CANVAS).place(image)


READERS = {
    "recognition": lambda raw: padded(fitted(opened(raw, LINES), LINES), (16, 16)),
    "squares, cropped": lambda raw: squared(opened(raw, CROPPED), CROPPED),
    "squares, whole": lambda raw: squared(opened(raw, WHOLE), WHOLE),
    "detection": on_canvas,
}


def turned():
    """Dark on the left once the EXIF data have turned it."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(gradient("L").rotate(90, expand=True), "JPEG", exif=exif)


def truncated():
    raw = io.BytesIO()
    gradient("RGB").resize((200, 200)).save(raw, "JPEG")
    return raw.getvalue()[:300]


GOOD = {
    "palette": encoded(gradient("P"), "GIF"),
    "alpha": encoded(gradient("RGBA")),
    "grey with alpha": encoded(gradient("LA")),
    "16 bits": encoded(gradient("I;16")),
    "floats": encoded(gradient("F"), "TIFF"),
    "CMYK": encoded(gradient("CMYK"), "JPEG"),
    "one bit": encoded(gradient("1")),
    "turned by EXIF": turned(),
    "two pixels": encoded(gradient("L").resize((2, 2), Image.Resampling.BOX)),
}
THIN = {
    "wide": encoded(Image.new("L", (100_000, 20), 90)),
    "high": encoded(Image.new("L", (20, 20_000), 90)),
}
BAD = {
    "empty": (b"", "unreadable image"),
    "text": (b"a label", "unreadable image"),
    "truncated": (truncated(), "unreadable image"),
    "one pixel": (encoded(Image.new("L", (1, 1))), "too small"),
    "bomb": (huge_png(60_000, 60_000), "too many pixels"),
}


@for_each(("reader", "name"), [(reader, name) for reader in READERS for name in GOOD])
def test_an_odd_image_is_read_as_it_looks(reader, name):
    light = READERS[reader](GOOD[name]).mean(axis=2)
    middle = light[len(light) // 2]
    assert float(middle[: len(middle) // 4].mean()) < float(light.max()) - 60


@for_each(("reader", "name"), [(reader, name) for reader in READERS for name in THIN])
def test_a_very_thin_image_stays_within_bounds(reader, name):
    pixels = READERS[reader](THIN[name])
    assert max(pixels.shape) <= 4096
    assert 80 < pixels.mean() < 130


@for_each(("reader", "name"), [(reader, name) for reader in READERS for name in BAD])
def test_an_image_that_cannot_be_read_says_why(reader, name):
    raw, reason = BAD[name]
    with pytest.raises(BadImage) as error:
        READERS[reader](raw)
    assert error.value.reason == reason
