"""Average precision as COCO's evaluation computes it, and how many predictions there are for each object.

The same numbers as pycocotools gives for boxes of all areas without crowds (a test compares them); no extra package is
needed for an evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from trimtab.metrics.metric import BoxScores
from trimtab.tasks.detection.suppression import pairwise_iou

THRESHOLDS = np.linspace(0.5, 0.95, 10)
"""Of IoU."""
RECALLS = np.linspace(0, 1, 101)
MOST = 100
"""Predictions of an image that count, those with the best scores."""


@dataclass(frozen=True, slots=True)
class Found:
    """Boxes of one image in its pixels, left, top, right, bottom: predictions, best first, or objects."""

    boxes: Float[np.ndarray, "boxes 4"]
    categories: np.ndarray
    scores: np.ndarray

    def take(self, which: np.ndarray) -> "Found":
        """Some of them."""
        return Found(self.boxes[which], self.categories[which], self.scores[which])


def average_precisions(
    predictions: Sequence[Found], objects: Sequence[Found], *, num_categories: int
) -> Float[np.ndarray, "thresholds"]:
    """AP at each threshold of IoU, the mean over categories that have an object; NaN where none has."""
    found = [
        _of_category(predictions, objects, category)
        for category in range(num_categories)
        if any((each.categories == category).any() for each in objects)
    ]
    return np.mean(found, axis=0) if found else np.full(len(THRESHOLDS), np.nan)


def _of_category(
    predictions: Sequence[Found], objects: Sequence[Found], category: int
) -> Float[np.ndarray, "thresholds"]:
    scores, hits, total = list[np.ndarray](), list[np.ndarray](), 0
    for predicted, true in zip(predictions, objects, strict=True):
        own = predicted.take(np.flatnonzero(predicted.categories == category))
        own = own.take(np.argsort(-own.scores, kind="stable")[:MOST])
        wanted = true.boxes[true.categories == category]
        total += len(wanted)
        scores.append(own.scores)
        hits.append(matched(own.boxes, wanted, THRESHOLDS))
    order = np.argsort(-np.concatenate(scores), kind="stable")
    right = np.concatenate(hits, axis=1)[:, order]
    return np.array([area(row, total) for row in right])


def matched(
    boxes: Float[np.ndarray, "boxes 4"],
    objects: Float[np.ndarray, "objects 4"],
    thresholds: Float[np.ndarray, "thresholds"],
) -> Bool[np.ndarray, "thresholds boxes"]:
    """Which predictions, best first, hit an object that no better one has hit: each takes the free object that it
    overlaps most, of equal ones the last, as pycocotools does."""
    hits = np.zeros((len(thresholds), len(boxes)), bool)
    if not len(boxes) or not len(objects):
        return hits
    overlap = pairwise_iou(boxes, objects)
    for level, threshold in enumerate(thresholds):
        least = min(threshold, 1 - 1e-10)
        free = np.ones(len(objects), bool)
        for place in range(len(boxes)):
            row = np.where(free, overlap[place], -1.0)
            best = len(row) - 1 - int(row[::-1].argmax())
            if row[best] >= least:
                hits[level, place], free[best] = True, False
    return hits


def area(right: Bool[np.ndarray, "predictions"], total: int) -> float:
    """Mean precision at 101 recalls, where the precision at a recall is the best at it or beyond; `right` in the order
    of scores, of `total` objects."""
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(hits / total, RECALLS, side="left")
    return float(np.append(precision, 0.0)[places].mean())  # 0 at recalls that are never reached


def box_scores(
    predictions: Sequence[Found],
    kept: Sequence[Found],
    objects: Sequence[Found],
    *,
    num_categories: int,
    threshold: float,
) -> BoxScores:
    """All numbers of an evaluation: of `predictions` as they are, and of those that are `kept` without duplicates; from
    `threshold` on a prediction counts as an object, for precision, recall and the number of predictions."""
    raw, clean = (
        average_precisions(each, objects, num_categories=num_categories) for each in (predictions, kept)
    )
    total = sum(len(each.boxes) for each in objects)
    numbers = []
    for given in (predictions, kept):
        sure = [each.take(np.flatnonzero(each.scores >= threshold)) for each in given]
        hits = sum(_hits_at_half(one, other) for one, other in zip(sure, objects, strict=True))
        numbers.append((hits, sum(len(each.boxes) for each in sure)))
    (hits, count), (clean_hits, clean_count) = numbers
    nothing = float("nan")
    return BoxScores(
        ap=float(raw.mean()),
        ap50=float(raw[0]),
        ap75=float(raw[5]),
        ap_nms=float(clean.mean()),
        ap50_nms=float(clean[0]),
        precision50=hits / count if count else nothing,
        recall50=hits / total if total else nothing,
        precision50_nms=clean_hits / clean_count if clean_count else nothing,
        recall50_nms=clean_hits / total if total else nothing,
        predictions_per_object=count / total if total else nothing,
        predictions_per_object_nms=clean_count / total if total else nothing,
    )


def _hits_at_half(predicted: Found, true: Found) -> int:
    hits = 0
    for category in np.unique(predicted.categories):
        own = predicted.take(np.flatnonzero(predicted.categories == category))
        own = own.take(np.argsort(-own.scores, kind="stable"))
        hits += int(matched(own.boxes, true.boxes[true.categories == category], THRESHOLDS[:1]).sum())
    return hits
