import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from trimtab.config.canvas import BoxAugmentation
from trimtab.tasks.detection.augment import Annotated, augmented, cropped, mirrored, scaled, within


def marked(box=(20, 10, 60, 30), size=(100, 80)):
    """A black box on white."""
    image = Image.new("RGB", size, "white")
    image.paste("black", box)
    return Annotated(image, np.array([box], float), np.array([0]))


def dark_box(image):
    places = np.argwhere(np.asarray(image).mean(2) < 100)
    (top, left), (bottom, right) = places.min(0), places.max(0) + 1
    return np.array([left, top, right, bottom])


@pytest.mark.parametrize("change", [cropped, scaled])
@given(seed=st.integers(0, 300))
def test_the_box_stays_on_what_it_marks(change, seed):
    config = BoxAugmentation(scale=0.5, min_visible=0.05)
    found = change(marked(), config, rng=np.random.default_rng(seed))
    assert len(found.boxes) == 1
    assert abs(dark_box(found.image) - found.boxes[0]).max() <= 2


def test_mirrored_twice_is_as_before():
    once = mirrored(marked())
    assert abs(dark_box(once.image) - once.boxes[0]).max() == 0
    assert mirrored(once).boxes.tolist() == marked().boxes.tolist()


def test_a_box_of_which_too_little_is_seen_goes():
    part = (50.0, 0.0, 100.0, 80.0)
    assert len(within(marked(), part, 0.2).boxes) == 1
    assert len(within(marked(), part, 0.3).boxes) == 0
    assert within(marked(), part, 0.2).boxes.tolist() == [[0, 10, 10, 30]]


def test_the_same_stream_gives_the_same_image():
    config = BoxAugmentation(flip=0.5, invert=0.5)
    one, other = (augmented(marked(), config, rng=np.random.default_rng(3)) for _ in range(2))
    assert one.boxes.tolist() == other.boxes.tolist()
    assert (np.asarray(one.image) == np.asarray(other.image)).all()


def test_with_everything_off_nothing_changes():
    off = BoxAugmentation(flip=0, scale=0, crop=0, color=0, invert=0)
    found = augmented(marked(), off, rng=np.random.default_rng(1))
    assert (np.asarray(found.image) == np.asarray(marked().image)).all()
    assert found.boxes.tolist() == marked().boxes.tolist()


def test_images_without_boxes_are_changed_too():
    bare = Annotated(Image.new("L", (40, 30), 200), np.zeros((0, 4)), np.zeros(0, np.int64))
    found = augmented(bare, BoxAugmentation(crop=1), rng=np.random.default_rng(1))
    assert found.boxes.shape == (0, 4)
