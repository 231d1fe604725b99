import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.for_each import for_each
from trimtab.config.images import ImageConfig
from trimtab.errors import InputError
from trimtab.tasks.images.given import each_given, name_of, opened
from trimtab.tasks.images.pixels import BadImage

CONFIG = ImageConfig(channels="rgb")


def test_an_image_is_the_same_in_every_form_that_it_may_have(tmp_path):
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    path = tmp_path / "image.png"
    path.write_bytes(file.getvalue())
    for given in (path, str(path), file.getvalue(), Image.fromarray(pixels), pixels):
        assert np.array_equal(np.asarray(opened(given, CONFIG)), pixels)


@for_each("given", [np.zeros((2, 2, 7)), np.zeros((1, 1), np.uint8), b"no image", "absent.png"])
def test_what_is_no_image_is_a_bad_image(given):
    with pytest.raises(BadImage):
        opened(given, CONFIG)


@pytest.mark.parametrize("given", ["a.png", b"", np.zeros((2, 2))])
def test_one_image_in_place_of_a_list_is_refused(given):
    with pytest.raises(InputError, match="in place of a list"):
        each_given(given)
    assert len([*each_given([given])]) == 1


def test_only_a_path_is_a_name():
    assert [name_of(each) for each in ("a.png", Path("b.png"), b"")] == ["a.png", "b.png", ""]
