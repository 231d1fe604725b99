import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from trimtab.config.images import ImageConfig
from trimtab.tasks.images.pixels import BadImage, fitted, from_row, load_image, padded, row_size, to_row

GREY, RGB = ImageConfig(), ImageConfig(channels="rgb")


def encoded(image, form="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def gradient(mode):
    """A dark left and a light right half."""
    values = np.repeat(np.array([[30, 220]], np.uint8), 10, 0).repeat(10, 1)
    match mode:
        case "I;16":
            return Image.fromarray(values.astype(np.uint16) * 257)
        case "F":
            return Image.fromarray(values.astype(np.float32) / 255)
        case "P":
            return Image.fromarray(values).convert("P")
        case _:
            return Image.fromarray(values).convert(mode)


@pytest.mark.parametrize(
    ("mode", "form"),
    [("1", "PNG"), ("L", "PNG"), ("P", "GIF"), ("LA", "PNG"), ("RGBA", "PNG"), ("I;16", "PNG"), ("I", "TIFF"),
     ("F", "TIFF"), ("CMYK", "JPEG"), ("CMYK", "TIFF"), ("YCbCr", "JPEG"), ("LAB", "TIFF"), ("RGB", "WEBP")],
)  # fmt: skip
@pytest.mark.parametrize("config", [GREY, RGB])
def test_every_mode_becomes_eight_bits_with_the_same_light_and_dark(mode, form, config):
    image = load_image(encoded(gradient(mode), form), config)
    assert image.mode == ("L" if config is GREY else "RGB")
    pixels = np.asarray(image).reshape(10, 20, -1).mean(2)
    assert pixels[:, 2].mean() < 70
    assert pixels[:, 17].mean() > 180


def test_what_is_transparent_is_white():
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (0, 0, 4, 8))
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([0, 0, 0] * 256)
    for raw in (encoded(image), encoded(palette, "PNG", transparency=0)):
        assert np.asarray(load_image(raw, GREY))[:, 6].tolist() == [255] * 8
    assert np.asarray(load_image(encoded(image), GREY))[:, 1].tolist() == [0] * 8


def test_exif_rotation_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6  # shown rotated by 90 degrees
    image = Image.fromarray(np.array([[0] * 30, [255] * 30], np.uint8).repeat(10, 0))
    turned = load_image(encoded(image, "JPEG", exif=exif), GREY)
    assert turned.size == (20, 30)


def huge_png(width, height):
    """The head of an image that would need gigabytes, a few bytes long."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "unreadable image"),
        (b"no image", "unreadable image"),
        (encoded(gradient("L").resize((300, 200)))[:90], "unreadable image"),
        (encoded(gradient("RGB"), "JPEG")[:200], "unreadable image"),
        (encoded(Image.new("L", (1, 1))), "too small"),
        (encoded(Image.new("L", (500, 1))), "too small"),
        (huge_png(60000, 60000), "too many pixels"),
        (huge_png(9000, 9000), "too many pixels"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "unreadable image"),
    ],
    ids=("empty", "text", "short png", "short jpeg", "1x1", "a row", "bomb", "too large", "postscript"),
)
def test_what_is_no_image_says_why(raw, reason):
    with pytest.raises(BadImage) as error:
        load_image(raw, GREY)
    assert error.value.reason == reason


@pytest.mark.parametrize(
    ("raw", "told"),
    [(b"", "an empty file"), (b"no image", "begins with b'no image'"), (b"<svg/>", "begins with b'<svg/>'")],
)
def test_what_no_format_reads_is_shown_with_the_formats_that_are_read(raw, told, tmp_path):
    (tmp_path / "a.png").write_bytes(raw)
    for source in (raw, tmp_path / "a.png"):
        with pytest.raises(BadImage, match="PNG, JPEG, TIFF") as error:
            load_image(source, GREY)
        assert error.value.found.startswith(told)


def test_an_animation_is_read_by_its_first_picture_and_a_photograph_of_several_is_opened():
    first, second = gradient("L"), Image.new("L", (20, 10), 0)
    for form in ("GIF", "WEBP", "TIFF", "MPO"):
        raw = encoded(first.convert("RGB"), form, save_all=True, append_images=[second.convert("RGB")])
        assert np.asarray(load_image(raw, GREY))[:, 17].mean() > 180, form


def test_a_path_that_is_not_there_and_a_folder_say_why(tmp_path):
    for path, reason in ((tmp_path / "a.png", "no such image"), (tmp_path, "unreadable image")):
        with pytest.raises(BadImage, match=reason):
            load_image(path, GREY)


@given(st.integers(2, 3000), st.integers(2, 300), st.sampled_from(["height", "longest"]))
def test_sizes_are_multiples_of_sixteen_and_the_aspect_ratio_is_kept(width, height, fit):
    config = ImageConfig(fit=fit, size=64, max_width=2048)
    image = fitted(Image.new("L", (width, height)), config)
    pixels = padded(image, (16, 16))
    assert pixels.shape[0] % 16 == pixels.shape[1] % 16 == 0
    assert pixels.shape[0] - image.height < 16
    assert max(pixels.shape[:2]) <= 2048
    expected = width / height
    if min(image.size) > 3 and image.width < config.widest:
        assert (
            (image.width - 0.5) / (image.height + 0.5)
            <= expected
            <= (image.width + 0.5) / (image.height - 0.5)
        )


def test_a_line_of_100_000_pixels_is_squeezed_or_dropped_as_the_recipe_says():
    long = Image.new("L", (100_000, 32), 255)
    assert fitted(long, ImageConfig(max_width=512)).size == (512, 32)
    with pytest.raises(BadImage, match="too wide"):
        fitted(long, ImageConfig(max_width=512, too_wide="drop"), squeeze=False)


def test_padding_has_the_color_of_the_edges_and_rows_give_the_image_back():
    pixels = padded(Image.new("RGB", (17, 10), (200, 100, 50)), (32, 16))
    assert pixels.shape == (32, 32, 3)
    assert pixels[31, 31].tolist() == [200, 100, 50]
    row = to_row(pixels)
    assert row_size(row) == (32, 32)
    assert np.array_equal(from_row(row), pixels)
