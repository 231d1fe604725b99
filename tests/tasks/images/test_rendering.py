import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from trimtab.config.images import Augmentation, ImageConfig, Rendering
from trimtab.tasks.images import rendering
from trimtab.tasks.images.pixels import BadImage, fitted
from trimtab.tasks.images.rendering import augmented, extreme_of_neighbors, render_line, typeset


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


@given(
    shape=st.sampled_from([(1, 1), (1, 7), (5, 1), (8, 9), (6, 5, 3)]),
    least=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_extreme_of_the_neighbors_is_that_of_pillows_filters(shape, least, seed):
    image = Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, np.uint8))
    expected = image.filter(ImageFilter.MinFilter(3) if least else ImageFilter.MaxFilter(3))
    found = extreme_of_neighbors(image, least=least)
    assert found.mode == image.mode
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_ligatures_are_drawn_with_and_without_the_tables_of_the_font(monkeypatch):
    covered = frozenset(map(ord, "office fly\ufb01\ufb03"))
    monkeypatch.setattr(rendering, "SHAPED", True)
    assert typeset("office", covered, joined=True) == ("office", None)
    assert typeset("office", covered, joined=False) == ("office", ["-liga"])
    monkeypatch.setattr(rendering, "SHAPED", False)
    assert typeset("office fly fi", covered, joined=True) == ("o\ufb03ce fly \ufb01", None)
    assert typeset("office", covered, joined=False) == ("office", None)


@pytest.mark.skipif(not rendering.SHAPED, reason="Pillow has no FriBiDi here")
def test_fonts_take_the_settings_of_ligatures(fonts):
    text, without = typeset("fi", fonts.covered[0], joined=False)
    assert fonts.font(0, 20).getbbox(text, features=without)[2] > 0


def test_what_needs_shaping_is_refused_where_there_is_none(monkeypatch, fonts):
    monkeypatch.setattr(rendering, "SHAPED", False)
    with pytest.raises(BadImage, match="FriBiDi"):
        render_line("\u0645\u0631", Rendering(fonts=("x",)), fonts, rng=np.random.default_rng(1))
