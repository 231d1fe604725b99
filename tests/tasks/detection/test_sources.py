import pytest
from PIL import Image

from tests.box_run import write_boxes
from trimtab.config.canvas import CanvasConfig
from trimtab.config.corpora import ValidFiles
from trimtab.errors import InputError
from trimtab.tasks.detection.annotations import UNKNOWN
from trimtab.tasks.detection.categories import Categories
from trimtab.tasks.detection.sources import corpus_of, read_annotations
from trimtab.tasks.images.pixels import BadImage

RED = Categories(("red",), (1,))


def opened(path, categories=RED, **changes):
    files = ValidFiles.model_validate({"boxes": str(path), **changes})
    return corpus_of(read_annotations(files, key="data.valid"), files, categories)


def test_boxes_of_categories_that_the_run_lacks_are_counted_and_left_out(tmp_path):
    corpus = opened(write_boxes(tmp_path, 6))
    found = corpus.annotations
    blue = sum(found.names[kind] == "blue" for kind in found.categories)
    assert corpus.passed_over == {UNKNOWN: blue}
    assert sum(corpus.count(line) for line in range(6)) == len(found.boxes) - blue
    image, boxes, categories = corpus.image(0, CanvasConfig(size=64))
    assert len(boxes) == corpus.count(0)
    assert {*categories.tolist()} <= {0}
    assert image.size == (36, 48)


def test_shares_of_yolo_become_pixels(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "labels").mkdir()
    Image.new("RGB", (40, 20)).save(tmp_path / "images" / "a.png")
    (tmp_path / "labels" / "a.txt").write_text("0 0.5 0.5 0.5 0.4\n")
    (tmp_path / "classes.txt").write_text("red\n")
    _, boxes, _ = opened(tmp_path).image(0, CanvasConfig(size=64))
    assert boxes[0].tolist() == pytest.approx([10, 6, 30, 14])


def test_what_a_run_depends_on_changes_its_fingerprint(tmp_path):
    path = write_boxes(tmp_path, 3)
    before = opened(path).fingerprint
    assert opened(path).fingerprint == before
    Image.new("RGB", (36, 48), "red").save(tmp_path / "images" / "0.png", compress_level=0)
    assert opened(path).fingerprint != before


def test_a_damaged_image_is_a_bad_one(tmp_path):
    corpus = opened(write_boxes(tmp_path, 2))
    (tmp_path / "images" / "0.png").write_bytes(b"none")
    with pytest.raises(BadImage):
        corpus.image(0, CanvasConfig(size=64))


@pytest.mark.parametrize("name", ["missing.json", "list.txt", "empty"])
def test_what_is_no_list_is_refused_with_its_key(tmp_path, name):
    (tmp_path / "list.txt").write_text("a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"data\.valid: "):
        opened(tmp_path / name)
