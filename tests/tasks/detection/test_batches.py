import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.canvas import CanvasConfig
from trimtab.config.step import StepConfig
from trimtab.tasks.detection.batches import Batching, BatchShape, cut, plan_shape
from trimtab.tasks.detection.datasets import Example, to_bytes
from trimtab.tasks.detection.letterbox import Letterbox
from trimtab.tasks.recognition.datasets import joined

CONFIG = CanvasConfig(fit="native", size=64)


def example(width, height, boxes, mark):
    letterbox = Letterbox.of(width, height, CONFIG)
    pixels = np.full((*letterbox.canvas, 3), mark, np.uint8)
    return Example(pixels, np.full((boxes, 4), mark / 255, np.float32), np.full(boxes, 1), letterbox)


kinds = st.lists(
    st.tuples(st.sampled_from([(50, 50), (100, 30), (30, 100)]), st.integers(0, 3)), min_size=1, max_size=9
)


@given(kinds=kinds, images=st.integers(1, 4))
def test_each_image_is_in_one_batch_of_its_canvas_with_its_boxes(kinds, images):
    rows = [example(*size, boxes, mark + 1) for mark, (size, boxes) in enumerate(kinds)]
    seen = []
    for batch in cut(joined([to_bytes(each) for each in rows]), images):
        assert 1 <= batch.num_segments <= images
        first = 0
        for number, count in enumerate(batch.counts):
            mark = int(batch.pixels[number, 0, 0, 0])
            original = rows[mark - 1]
            assert original.letterbox.canvas == tuple(batch.pixels.shape[2:])
            assert batch.inner[number].tolist() == [
                original.letterbox.inner_height,
                original.letterbox.inner_width,
            ]
            assert torch.equal(batch.boxes[first : first + count], torch.from_numpy(original.boxes))
            first += count
            seen.append(mark)
        assert batch.num_targets == first == len(batch.categories)
    assert sorted(seen) == [*range(1, len(rows) + 1)]
    batching = Batching(BatchShape(1, images), lambda _: images, torch.device("cpu"))
    numbers = [number for found, _ in batching.whole_set(iter(rows)) for number in found]
    assert sorted(numbers) == [*range(len(rows))]


def test_steps_are_counted_in_images():
    shape = plan_shape(StepConfig(tokens_per_step=16, tokens_per_micro_batch=6))
    assert (shape.num_batches, shape.images) == (3, 6)
    assert plan_shape(StepConfig(tokens_per_step=16), ranks=4).images == 4


def test_a_blank_batch_counts_nothing():
    (batch,) = cut(joined([to_bytes(example(50, 50, 2, 7))]), 1)
    assert (batch.blank().num_targets, batch.blank().counts) == (0, (0,))
    assert batch.blank().pixels.shape == batch.pixels.shape
