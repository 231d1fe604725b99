import contextlib
import io

import numpy as np
import pytest

from trimtab.tasks.detection.average_precision import Found, average_precisions, box_scores


def some(seed, *, images=12, categories=3):
    """Objects, and predictions that are often near them."""
    draw = np.random.default_rng(seed)
    objects, predictions = [], []
    for _ in range(images):
        count = int(draw.integers(0, 6))
        corner, side = draw.uniform(0, 80, (count, 2)), draw.uniform(2, 60, (count, 2))
        boxes = np.concatenate([corner, corner + side], 1)
        kinds = draw.integers(0, categories, count)
        objects.append(Found(boxes, kinds, np.ones(count)))
        near = np.repeat(boxes, 2, axis=0) + draw.normal(0, 3, (2 * count, 4))
        wild = draw.uniform(0, 50, (3, 2))
        near = np.concatenate([near, np.concatenate([wild, wild + 20], 1)])
        near[:, 2:] = np.maximum(near[:, 2:], near[:, :2] + 1)
        labels = np.concatenate([np.repeat(kinds, 2), draw.integers(0, categories, 3)])
        predictions.append(Found(near, labels, draw.uniform(0, 1, len(near)).round(2)))
    return predictions, objects


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_pycocotools_computes(seed):
    coco = pytest.importorskip("pycocotools.coco")
    evaluation = pytest.importorskip("pycocotools.cocoeval")
    predictions, objects = some(seed)
    rows = [
        (image, int(kind), [*box[:2], *(box[2:] - box[:2])])
        for image, each in enumerate(objects)
        for box, kind in zip(each.boxes, each.categories, strict=True)
    ]
    results = [
        {
            "image_id": image,
            "category_id": int(kind),
            "bbox": [*box[:2], *(box[2:] - box[:2])],
            "score": score,
        }
        for image, each in enumerate(predictions)
        for box, kind, score in zip(each.boxes, each.categories, each.scores, strict=True)
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        truth = coco.COCO()
        truth.dataset = {
            "images": [{"id": number} for number in range(len(objects))],
            "categories": [{"id": number} for number in range(3)],
            "annotations": [
                {"id": number + 1, "image_id": image, "category_id": kind, "bbox": box, "area": box[2] * box[3],
                 "iscrowd": 0}
                for number, (image, kind, box) in enumerate(rows)
            ],
        }  # fmt: skip
        truth.createIndex()
        oracle = evaluation.COCOeval(truth, truth.loadRes(results), "bbox")
        oracle.evaluate()
        oracle.accumulate()
        oracle.summarize()
    found = average_precisions(predictions, objects, num_categories=3)
    assert [found.mean(), found[0], found[5]] == pytest.approx(oracle.stats[:3].tolist(), abs=1e-9)


def test_perfect_predictions_score_1_and_doubled_ones_show_in_predictions_for_each_object():
    _, objects = some(1)
    twice = [Found(*(np.concatenate([part, part]) for part in (each.boxes, each.categories, each.scores)))
             for each in objects]  # fmt: skip
    found = box_scores(twice, objects, objects, num_categories=3, threshold=0.5)
    assert found.ap_nms == found.recall50 == 1 > found.ap
    assert (found.predictions_per_object, found.precision50) == (2, 0.5)
    assert (found.predictions_per_object_nms, found.precision50_nms) == (1, 1)


def test_without_an_object_there_is_no_number():
    nothing = [Found(np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0))]
    found = box_scores(nothing, nothing, nothing, num_categories=2, threshold=0.5)
    assert np.isnan([found.ap, found.recall50, found.predictions_per_object]).all()
