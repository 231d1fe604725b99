import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from trimtab.config.canvas import CanvasConfig
from trimtab.tasks.detection.letterbox import Letterbox, centered, corners

sizes = st.integers(2, 5000)
configs = st.builds(
    CanvasConfig,
    fit=st.sampled_from(["letterbox", "native", "squash"]),
    size=st.sampled_from([64, 320, 640]),
    multiple=st.sampled_from([32, 64]),
)


@given(width=sizes, height=sizes, config=configs, shares=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_boxes_come_back_exactly(width, height, config, shares):
    letterbox = Letterbox.of(width, height, config)
    boxes = np.array([shares]) * [width, height, width, height]
    assert letterbox.from_canvas(letterbox.to_canvas(boxes)) == pytest.approx(
        boxes, abs=1e-9 * max(width, height)
    )


@given(width=sizes, height=sizes, config=configs)
def test_the_image_lies_inside_a_canvas_in_multiples(width, height, config):
    box = Letterbox.of(width, height, config)
    assert box.canvas_width % config.multiple == box.canvas_height % config.multiple == 0
    assert 1 <= box.inner_width <= box.canvas_width
    assert 1 <= box.inner_height <= box.canvas_height
    whole = box.to_canvas(np.array([[0.0, 0.0, width, height]]))[0]
    assert whole == pytest.approx(
        [0, 0, box.inner_width / box.canvas_width, box.inner_height / box.canvas_height]
    )


@given(width=st.integers(100, 4000), height=st.integers(100, 4000))
def test_a_native_canvas_keeps_the_aspect_ratio_and_the_number_of_pixels(width, height):
    config = CanvasConfig(fit="native", size=640)
    box = Letterbox.of(width, height, config)
    if max(width, height) <= 4 * min(width, height):
        assert box.canvas_width * box.canvas_height == pytest.approx(640 * 640, rel=0.06)
        assert box.inner_width / box.inner_height == pytest.approx(width / height, rel=0.02)
        assert box.inner_width * box.inner_height >= 0.85 * box.canvas_width * box.canvas_height


def test_a_box_of_the_reference_trap_comes_back_where_it_was():
    # transformers' post-processing with the original size puts y 5 to 25 of a 300 x 40 image at 0.7 to 3.3.
    box = Letterbox.of(300, 40, CanvasConfig(size=640))
    found = box.from_canvas(box.to_canvas(np.array([[10.0, 5.0, 290.0, 25.0]])))
    assert found == pytest.approx(np.array([[10.0, 5.0, 290.0, 25.0]]))


def test_pixels_and_boxes_move_alike():
    image = Image.new("RGB", (90, 60), "white")
    image.paste("black", (30, 20, 60, 40))
    box = Letterbox.of(90, 60, CanvasConfig(size=96))
    pixels = box.place(image)
    left, top, right, bottom = (
        (box.to_canvas(np.array([[30.0, 20.0, 60.0, 40.0]]))[0] * 96).round().astype(int)
    )
    dark = np.argwhere(pixels[: box.inner_height].mean(2) < 60)
    assert abs(dark.min(0) - [top, left]).max() <= 1
    assert abs(dark.max(0) + 1 - [bottom, right]).max() <= 1
    assert (pixels[box.inner_height :] == [124, 116, 104]).all()


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_centers_and_corners_are_inverse(numbers):
    boxes = np.array([numbers])
    assert centered(corners(boxes)) == pytest.approx(boxes)
