import json

import numpy as np
import pytest

from tests.box_run import box_sources, reopened
from trimtab.errors import InputError
from trimtab.tasks.detection.datasets import from_bytes, letterbox_of, to_bytes
from trimtab.tasks.detection.letterbox import corners


def test_an_example_comes_back_from_its_bytes(opened):
    _, datasets = opened
    for example in next(iter(datasets.valid.values())).examples():
        row = to_bytes(example)
        back = from_bytes(row)
        assert (back.pixels == example.pixels).all()
        assert (back.boxes == example.boxes).all()
        assert (back.categories == example.categories).all()
        assert back.letterbox == example.letterbox == letterbox_of(row)


def test_boxes_of_an_example_are_those_of_the_list(opened):
    _, datasets = opened
    valid = next(iter(datasets.valid.values()))
    for line, example in enumerate(valid.examples()):
        boxes, _ = valid.corpus.annotations.of(line)
        assert example.letterbox.from_canvas(corners(example.boxes.astype(float))) == pytest.approx(
            boxes, abs=1e-3
        )


def test_a_chunk_is_a_function_of_its_position(opened):
    _, datasets = opened
    whole = datasets.feed.chunk(start=0, count=6)
    parts = [datasets.feed.chunk(start=start, count=2) for start in (0, 2, 4)]
    assert np.concatenate([part.source.values for part in parts]).tobytes() == whole.source.values.tobytes()
    assert (whole.target.lengths == 1).all()
    assert whole.target.values.tolist() == [datasets.corpora[0].count(int(line)) for line in whole.line]


def test_a_damaged_image_is_dropped_in_training_and_an_error_in_validation(tmp_path, own_cache):
    _, datasets = box_sources(tmp_path)
    (tmp_path / "train" / "images" / "3.png").write_bytes(b"none")
    (tmp_path / "dev" / "images" / "1.png").write_bytes(b"none")
    chunk = datasets.feed.chunk(start=0, count=12)
    assert [each.reason for each in chunk.dropped] == ["unreadable image"]
    with pytest.raises(InputError, match=r"1\.png"):
        [*next(iter(datasets.valid.values())).examples()]


def test_a_list_without_a_box_is_refused_with_what_was_wrong(tmp_path, own_cache):
    box_sources(tmp_path)
    place = tmp_path / "train" / "boxes.json"
    tree = json.loads(place.read_text())
    for each in tree["annotations"]:
        each["bbox"] = [0.5, 0.5, 0.0, 0.0]
    place.write_text(json.dumps(tree))
    (tmp_path / "tokenizer" / "categories.json").unlink()
    with pytest.raises(InputError, match="no box is left to train on") as error:
        reopened(tmp_path)
    assert "without an area" in str(error.value)


def test_categories_are_kept_in_the_run_and_others_are_refused(tmp_path, own_cache):
    _, datasets = box_sources(tmp_path)
    assert (datasets.categories.names, datasets.categories.ids) == (("red", "blue"), (3, 7))
    place = tmp_path / "train" / "boxes.json"
    place.write_text(place.read_text().replace('"blue"', '"green"'))
    with pytest.raises(InputError, match="not the categories that the run began with"):
        reopened(tmp_path)


def test_validation_images_that_cannot_be_read_are_all_named_before_the_run(tmp_path):
    box_sources(tmp_path)
    for number, content in ((0, b"<svg/>"), (1, b"")):
        (tmp_path / "dev" / "images" / f"{number}.png").write_bytes(content)
    with pytest.raises(InputError) as error:
        reopened(tmp_path)
    told = str(error.value)
    assert "begins with b'<svg/>'" in told
    assert "2 of " in told
    assert "an empty file" in told
