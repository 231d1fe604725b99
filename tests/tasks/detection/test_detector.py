import json

import numpy as np
import pytest
from PIL import Image

from tests.box_run import write_boxes
from trimtab.errors import InputError
from trimtab.tasks.detection.detector import coco_results, drawn, load_detector
from trimtab.tasks.detection.validation import objects_of


@pytest.fixture(scope="module")
def detector(box_run):
    return load_detector(box_run, device="cpu", score_threshold=0.0)


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    return write_boxes(tmp_path_factory.mktemp("listed"), 4, seed=5)


@pytest.mark.slow
def test_each_image_has_its_objects_in_the_order_given(detector, listed):
    paths = sorted((listed.parent / "images").iterdir())
    found = [*detector.detect([*paths, np.asarray(Image.open(paths[0]))])]
    assert [each.image for each in found] == [*map(str, paths), ""]
    assert found[0].objects == found[-1].objects
    for each in found:
        assert [one.score for one in each.objects] == sorted(
            (one.score for one in each.objects), reverse=True
        )
        for one in each.objects:
            left, top, right, bottom = one.box
            assert 0 <= left < right <= each.width
            assert 0 <= top < bottom <= each.height


def test_prediction_sees_what_evaluation_sees(detector, listed, parts):
    """One letterbox for both: the boxes of an image are the same by either way, to rounding."""
    valid = next(iter(parts.datasets.valid.values()))
    example = next(valid.examples())
    ((_, batch),) = parts.batching.whole_set([example])
    by_evaluation = objects_of(detector.model.predict(batch), [example.letterbox], softmax=False)[0]
    image, _, _ = valid.corpus.image(0, detector.canvas)
    by_prediction = detector.predict([image], raw=True)[0]
    assert by_prediction.boxes == pytest.approx(by_evaluation.boxes, abs=1e-3)


def test_images_that_cannot_be_read_are_named_and_the_others_are_looked_at(detector, tmp_path):
    Image.new("RGB", (20, 30)).save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"none")
    odd = Image.new("P", (9, 400))
    found = [*detector.detect([tmp_path / "bad.png", tmp_path / "good.png", odd, np.zeros((3, 4, 5, 6))])]
    assert [bool(each.error) for each in found] == [True, False, False, True]
    with pytest.raises(InputError):
        detector.detect(str(tmp_path / "good.png"))


def test_results_in_cocos_form_have_the_ids_of_the_list(detector, listed):
    path = listed.parent / "images" / "0.png"
    found = [*detector.detect([path])]
    rows = json.loads(coco_results(found, detector.categories, [17]))
    assert len(rows) == len(found[0].objects) > 0
    assert {row["image_id"] for row in rows} == {17}
    assert {row["category_id"] for row in rows} <= {3, 7}
    left, top, right, bottom = found[0].objects[0].box
    assert rows[0]["bbox"] == pytest.approx([left, top, right - left, bottom - top], abs=0.01)


def test_a_drawn_image_has_the_size_of_the_image(detector, listed):
    path = listed.parent / "images" / "0.png"
    (found,) = detector.detect([path])
    with Image.open(path) as image:
        shown = drawn(image, found, categories=detector.categories.names)
        assert shown.size == image.size
        assert np.abs(np.asarray(shown, int) - np.asarray(image.convert("RGB"), int)).max() > 0


@pytest.mark.quick("nms-soft")
@pytest.mark.parametrize(("key", "value"), [("score_threshold", 1.5), ("nms", "soft")])
def test_values_that_cannot_be_are_refused(box_run, key, value):
    with pytest.raises(InputError):
        load_detector(box_run, device="cpu", **{key: value})
