import numpy as np
import pytest
from PIL import ImageFont

from trimtab.config.images import Augmentation, ImageConfig, Rendering
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.recognition.fonts import characters_of, open_fonts
from trimtab.tasks.recognition.pixels import BadImage, fitted
from trimtab.tasks.recognition.rendering import augmented, render_line
from trimtab.tasks.recognition.write_rendered import write_rendered


@pytest.fixture(scope="module")
def font_file(tmp_path_factory):
    """The font that comes with Pillow, as a file."""
    font = ImageFont.load_default(20)
    path = tmp_path_factory.mktemp("fonts") / "aileron.ttf"
    path.write_bytes(font.font_bytes)
    return path


@pytest.fixture(scope="module")
def fonts(font_file):
    return open_fonts([str(font_file.parent)], key="fonts")


def test_a_font_has_the_characters_of_its_table_and_no_box_for_others(font_file, fonts):
    covered = set(characters_of(font_file.read_bytes()))
    assert {ord(each) for each in "Az09!~"} <= covered
    assert ord("漢") not in covered
    assert fonts.covering("abc 123") == [0]
    assert fonts.covering("漢") == []
    font = ImageFont.truetype(str(font_file), 20)
    missing = bytes(font.getmask("\uffff"))
    for code in sorted(covered - {0x20, 0xA0})[:200]:
        assert bytes(font.getmask(chr(code))) != missing


@pytest.mark.parametrize("text", ["漢字", "   ", "", "x" * 3000])
def test_what_cannot_be_drawn_says_why(fonts, text):
    with pytest.raises(BadImage):
        render_line(text, Rendering(fonts=("x",)), fonts, rng=np.random.default_rng(1))


def test_the_same_numbers_draw_the_same_image_and_others_another(fonts):
    config, size = Rendering(fonts=("x",)), ImageConfig(size=32)

    def image(seed):
        drawn = render_line("abc 123", config, fonts, rng=np.random.default_rng(seed))
        return augmented(fitted(drawn, size), Augmentation(), rng=np.random.default_rng(seed)).tobytes()

    assert image(1) == image(1)
    assert len({image(seed) for seed in range(6)}) == 6


def test_ink_can_be_told_from_paper_whatever_is_drawn(fonts):
    config = Rendering(fonts=("x",), jpeg=1.0, low_resolution=1.0, neighbors=1.0)
    for seed in range(12):
        for channels in ("grey", "rgb"):
            image = render_line("HHHH", config, fonts, rng=np.random.default_rng(seed), channels=channels)
            assert image.mode == ("L" if channels == "grey" else "RGB")
            pixels = np.asarray(image.convert("L"), np.float32)
            assert pixels.max() - pixels.min() > 30


def test_no_rotation_takes_the_ends_of_a_long_line_away(fonts):
    line = fitted(
        render_line("H" * 60, Rendering(fonts=("x",)), fonts, rng=np.random.default_rng(1)), ImageConfig()
    )
    only_turned = Augmentation(
        probability=1, rotation=45, shear=0, blur=0, noise=0, contrast=0, thickness=0, invert=0
    )
    for seed in range(5):
        pixels = np.asarray(augmented(line, only_turned, rng=np.random.default_rng(seed)), np.float32)
        assert pixels.shape == np.asarray(line).shape
        for end in (pixels[:, 8:40], pixels[:, -40:-8]):
            assert end.max() - end.min() > 40


@pytest.mark.parametrize("content", [b"", b"no font", b"OTTO" + b"\xff" * 40])
def test_files_that_are_no_fonts_are_refused(tmp_path, content):
    (tmp_path / "a.ttf").write_bytes(content)
    for given in (tmp_path, tmp_path / "a.ttf", tmp_path / "missing"):
        with pytest.raises(InputError, match="fonts: "):
            open_fonts([str(given)], key="fonts")


def test_a_text_becomes_a_folder_of_images_that_is_the_same_each_time(font_file, tmp_path, own_cache):
    text = tmp_path / "lines.txt"
    text.write_text("abc\n漢字\n123\n", encoding="utf-8")
    reports = [
        write_rendered(
            text, tmp_path / name, fonts=[str(font_file)], count=5, seed=3, augment=True, progress=Silent()
        )
        for name in ("one", "two")
    ]
    assert reports[0].written == 3  # of five, for which the second line is passed over twice
    assert reports[0].left_out == {"no font has its characters": [2]}
    assert "no font has its characters (lines 2)" in reports[0].render()
    one, other = (sorted((tmp_path / name).rglob("*.*")) for name in ("one", "two"))
    assert [each.read_bytes() for each in one] == [each.read_bytes() for each in other]
    with pytest.raises(InputError, match="not empty"):
        write_rendered(
            text, tmp_path / "one", fonts=[str(font_file)], count=1, seed=3, augment=False, progress=Silent()
        )


@pytest.mark.parametrize(
    "changes",
    [{"size": [40, 20]}, {"ink": [0, 300]}, {"ink": [0, 200], "background": [150, 255]}, {"fonts": []}],
)
def test_ranges_that_are_none_are_refused(changes):
    with pytest.raises(ValueError):
        Rendering.model_validate({"fonts": ["x"], **changes})
