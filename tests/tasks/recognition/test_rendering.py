import numpy as np
import pytest

from trimtab.config.images import Augmentation, ImageConfig, Rendering
from trimtab.tasks.recognition.pixels import BadImage, fitted
from trimtab.tasks.recognition.rendering import augmented, render_line


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
