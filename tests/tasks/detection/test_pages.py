import json
from itertools import cycle

import numpy as np
import pytest
from PIL import ImageFont

from tests.for_each import for_each
from trimtab.config.images import Rendering
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.detection.coco import read_coco
from trimtab.tasks.detection.pages import draw_page, page_size, write_pages
from trimtab.tasks.images.fonts import open_fonts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the font that comes with Pillow, and a text."""
    place = tmp_path_factory.mktemp("fonts")
    (place / "aileron.ttf").write_bytes(ImageFont.load_default(20).font_bytes)
    (place / "text.txt").write_text("\n".join(f"some words of line {number}" for number in range(30)))
    return place


def test_each_box_holds_the_ink_of_its_line_and_no_ink_is_outside(folder):
    fonts = open_fonts([str(folder)], key="fonts")
    config = Rendering(fonts=("x",), ink=(0, 0), background=(255, 255), jpeg=0, low_resolution=0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        page = draw_page(cycle(["tall", "words", "go", "here"]), fonts, config, size=(320, 200), rng=rng)
        dark = np.asarray(page.image.convert("L")) < 110
        assert page.boxes
        for left, top, right, bottom in page.boxes:
            assert dark[max(0, top) : bottom, max(0, left) : right].any()
            dark[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = False
        assert not dark.any()


def test_pages_are_a_coco_list_and_the_same_seed_gives_the_same_pages(folder, tmp_path, own_cache):
    for name in ("one", "other"):
        write_pages(
            folder / "text.txt", tmp_path / name, fonts=[str(folder)], sizes=[(160, 96), (96, 160)], count=3, seed=4,
            progress=Silent(),
        )  # fmt: skip
    found = read_coco(tmp_path / "one" / "boxes.json", None)
    assert found.names == ("line",)
    assert found.faults.left_out == 0
    assert len(found.boxes) > 3
    texts = [(tmp_path / name / "boxes.json").read_text() for name in ("one", "other")]
    assert texts[0] == texts[1]
    sizes = {(each["width"], each["height"]) for each in json.loads(texts[0])["images"]}
    assert sizes <= {(160, 96), (96, 160)}
    pages = [(tmp_path / name / "images" / "000000.png").read_bytes() for name in ("one", "other")]
    assert pages[0] == pages[1]


@for_each("given", ["", "a", "100", "100x", "10x100", "100x99999", "100x100x3", "-5x100", "1.5x100"])
def test_a_size_that_is_none_is_refused(given):
    with pytest.raises(InputError, match="no size of a page"):
        page_size(given)
    assert page_size("1280X720") == (1280, 720)
