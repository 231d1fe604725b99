import json

import numpy as np
import pytest
from PIL import Image

from tests.box_run import write_boxes
from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.tasks.detection.annotations import CROWD, CUT_OFF, EMPTY, NO_IMAGE, NOT_NUMBERS, OUTSIDE, UNKNOWN
from trimtab.tasks.detection.coco import read_coco


@pytest.fixture
def tree(tmp_path):
    return json.loads(write_boxes(tmp_path, 3).read_text())


def read(tmp_path, tree, folder=None):
    path = tmp_path / "boxes.json"
    path.write_text(json.dumps(tree))
    return read_coco(path, folder)


def test_categories_are_numbered_by_their_place_and_boxes_are_corners(tmp_path, tree):
    found = read(tmp_path, tree)
    assert (found.names, found.category_ids) == (("red", "blue"), (3, 7))
    first = next(each for each in tree["annotations"] if each["image_id"] == 1)
    boxes, kinds = found.of(0)
    left, top, wide, high = first["bbox"]
    assert boxes[0].tolist() == [left, top, left + wide, top + high]
    assert kinds[0] == [3, 7].index(first["category_id"])
    assert found.faults.counts == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image_id": 99}, NO_IMAGE),
        ({"image_id": []}, NO_IMAGE),
        ({"category_id": 4}, UNKNOWN),
        ({"bbox": [5, 5, 0, 9]}, EMPTY),
        ({"bbox": [5, 5, -4, 9]}, EMPTY),
        ({"bbox": [500, 5, 9, 9]}, OUTSIDE),
        ({"bbox": [5, 5, 9]}, NOT_NUMBERS),
        ({"bbox": [5, 5, 9, "9"]}, NOT_NUMBERS),
        ({"bbox": [5, 5, 9, float("nan")]}, NOT_NUMBERS),
        ({"bbox": [5, 5, 9, float("inf")]}, NOT_NUMBERS),
        ({"bbox": [5, 5, 9, 10**400]}, NOT_NUMBERS),
        ({"bbox": None}, NOT_NUMBERS),
        ({"iscrowd": 1}, CROWD),
    ],
)
def test_a_box_that_cannot_be_used_is_counted_and_named(tmp_path, tree, change, reason):
    before = len(tree["annotations"])
    tree["annotations"][0] |= change
    found = read(tmp_path, tree)
    assert found.faults.counts == {reason: 1}
    assert len(found.boxes) == before - 1
    assert "annotation 1" in found.faults.places[reason][0]


def test_a_box_over_the_edge_is_cut_off_there_and_kept(tmp_path, tree):
    tree["annotations"][0]["bbox"] = [-6, 5, 20, 1000]
    found = read(tmp_path, tree)
    assert found.faults.counts == {CUT_OFF: 1}
    image = tree["images"][0]
    assert found.of(0)[0][0].tolist() == [0, 5, 14, image["height"]]


@for_each("size", [None, True, 0, -5, float("nan"), float("inf"), 10**400, "40"])
def test_the_size_of_an_image_that_a_list_does_not_tell_is_that_of_the_image(tmp_path, tree, size):
    tree["images"][0]["width"] = size
    tree["annotations"][0]["bbox"] = [5000, 5, 9, 9]
    assert read(tmp_path, tree).faults.counts == {OUTSIDE: 1}


def test_the_size_of_a_photograph_is_that_of_the_upright_one(tmp_path, tree):
    exif = Image.Exif()
    exif[0x0112] = 6
    del tree["images"][0]["width"]
    Image.new("RGB", (60, 400)).save(tmp_path / "images" / "turned.jpg", exif=exif)
    tree["images"][0]["file_name"] = "turned.jpg"
    tree["annotations"][0]["bbox"] = [300, 5, 9, 9]
    assert read(tmp_path, tree).faults.counts == {}


def test_crowds_are_those_that_say_so(tmp_path, tree):
    tree["annotations"][0]["iscrowd"] = "0"
    assert read(tmp_path, tree).faults.counts == {}


def test_long_thin_boxes_are_kept(tmp_path, tree):
    tree["annotations"][0]["bbox"] = [0, 5, 36, 0.3]
    assert len(read(tmp_path, tree).boxes) == len(tree["annotations"])


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda tree: tree.pop("images"), "`images` is missing"),
        (lambda tree: tree.pop("categories"), "`categories` is missing"),
        (lambda tree: tree["images"][0].pop("file_name"), "images[0] lacks file_name"),
        (lambda tree: tree["images"].append(tree["images"][0]), "two images have the same id"),
        (
            lambda tree: tree["categories"].append({"id": 9, "name": "red"}),
            "two categories have the same name",
        ),
        (lambda tree: tree["categories"][0].update(name="blue"), "two categories have the same name"),
        (lambda tree: tree["categories"][0].update(name=None), "a category has no name"),
        (lambda tree: tree["categories"][0].update(name=" "), "a category has no name"),
        (lambda tree: tree["categories"][0].update(name="a\ud800"), "a category has no name"),
        (lambda tree: tree["categories"][0].update(id={}), "an id of categories is neither"),
        (lambda tree: tree["images"][0].update(id=[1]), "an id of images is neither"),
        (lambda tree: tree["images"][0].update(id=2.0), "an id of images is neither"),
        (lambda tree: tree["images"][0].update(id=True), "an id of images is neither"),
        (lambda tree: tree["images"][1].update(file_name="none.png"), "the image 'none.png' cannot be found"),
        (lambda tree: tree["images"][1].update(file_name="x" * 5000), "cannot be found"),
        (lambda tree: tree["images"][1].update(file_name="x\0y"), "cannot be found"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(tmp_path, tree, break_it, said):
    break_it(tree)
    with pytest.raises(InputError) as error:
        read(tmp_path, tree)
    assert said in str(error.value)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"[]", b"{", b"[" * 100_000])
def test_what_is_no_such_file_is_refused(tmp_path, raw):
    path = tmp_path / "boxes.json"
    path.write_bytes(raw)
    with pytest.raises(InputError):
        read_coco(path, None)


def test_images_are_found_in_the_folder_that_is_named(tmp_path, tree):
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError):
        read(tmp_path, tree)
    assert read(tmp_path, tree, tmp_path / "elsewhere").images[0].parent == tmp_path / "elsewhere"


def test_places_can_be_fetched_in_any_order(tmp_path, tree):
    found = read(tmp_path, tree)
    assert sum(len(found.of(number)[0]) for number in range(3)) == len(found.boxes)
    assert np.diff(found.offsets).min() >= 0
