import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.canvas import CanvasConfig


@for_each(
    "changes", [{"size": 100}, {"size": 96, "multiple": 64}, {"multiple": 48}, {"size": 0}, {"size": 8192}]
)
def test_a_side_that_is_no_multiple_or_out_of_range_is_refused(changes):
    with pytest.raises(ValidationError):
        CanvasConfig(**changes)


def test_images_are_opened_as_the_canvas_says():
    reading = CanvasConfig(size=64, channels="grey", max_pixels=1000).reading
    assert (reading.channels, reading.max_pixels, reading.augment) == ("grey", 1000, None)
