import json

import pytest
from PIL import Image

from tests.box_run import write_boxes


def test_objects_are_lines_json_or_coco_and_drawn(box_run, tmp_path, call):
    listed = write_boxes(tmp_path / "set", 2)
    images = listed.parent / "images"
    told = call("detect", box_run, images, "--threshold", "0", "--draw", tmp_path / "drawn")
    assert told.exit_code == 0, told.stderr
    fields = told.stdout.splitlines()[0].split("\t")
    assert fields[0].endswith("0.png")
    assert fields[1] in ("red", "blue")
    assert len(fields) == 7
    with Image.open(tmp_path / "drawn" / "1.png") as one, Image.open(images / "1.png") as other:
        assert one.size == other.size
    rows = [
        json.loads(line) for line in call("detect", box_run, images, "--format", "json").stdout.splitlines()
    ]
    assert [each["image"].rpartition("/")[2] for each in rows] == ["0.png", "1.png"]
    assert isinstance(json.loads(call("detect", box_run, images, "--format", "coco").stdout), list)
    assert "AP50" in call("detect", box_run, listed, "--score").stdout


@pytest.mark.parametrize(
    "arguments", [["missing.png"], ["--score", "missing.json"], ["--score", "a.json", "b.json"]]
)
def test_wrong_input_ends_with_two_and_no_traceback(box_run, call, arguments):
    told = call("detect", box_run, *arguments)
    assert told.exit_code == 2
    assert told.stderr.startswith("error:")
    assert "Traceback" not in told.stderr


def test_an_image_that_cannot_be_read_ends_with_one(box_run, tmp_path, call):
    (tmp_path / "bad.png").write_bytes(b"none")
    told = call("detect", box_run, tmp_path / "bad.png")
    assert told.exit_code == 1
    assert "1 of 1 images could not be read" in told.stderr
