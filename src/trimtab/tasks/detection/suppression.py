"""Removes duplicates: boxes of a category that overlap a better one, or lie inside it."""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

Nms = Literal["none", "iou", "iou_containment"]


def suppressed(
    boxes: Float[np.ndarray, "boxes 4"],
    scores: Float[np.ndarray, "boxes"],
    categories: Int[np.ndarray, "boxes"],
    *,
    nms: Nms,
    iou: float = 0.7,
    contained: float = 0.8,
) -> Int[np.ndarray, "kept"]:
    """The boxes that remain, best score first; of equal scores the earlier one. A box goes if a better one of its
    category that remains overlaps it by more than `iou`, or, with `iou_containment`, holds at least the share
    `contained` of it."""
    order = np.argsort(-scores, kind="stable")
    if nms == "none" or not len(order):
        return order
    rows, kinds = boxes[order].astype(np.float64), categories[order]
    alive = np.ones(len(rows), bool)
    for place in range(len(rows)):
        if not alive[place]:
            continue
        rest = alive & (kinds == kinds[place])
        rest[: place + 1] = False
        alive[rest & _covered(rows[place], rows, nms, iou=iou, contained=contained)] = False
    return order[alive]


def _covered(
    best: np.ndarray, rows: np.ndarray, nms: Nms, *, iou: float, contained: float
) -> Bool[np.ndarray, "boxes"]:
    shared = (np.minimum(best[2:], rows[:, 2:]) - np.maximum(best[:2], rows[:, :2])).clip(min=0).prod(1)
    areas, area = (rows[:, 2:] - rows[:, :2]).prod(1), (best[2:] - best[:2]).prod()
    union = np.maximum(areas + area - shared, 1e-12)
    covered = shared / union > iou
    if nms == "iou_containment":
        covered |= (areas > 0) & (shared >= contained * areas)
    return covered


def pairwise_iou(one: Float[np.ndarray, "a 4"], other: Float[np.ndarray, "b 4"]) -> Float[np.ndarray, "a b"]:
    """IoU of each box (left, top, right, bottom) of the first list with each of the second."""
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = (high - low).clip(min=0).prod(2)
    areas = (one[:, 2:] - one[:, :2]).prod(1)[:, None] + (other[:, 2:] - other[:, :2]).prod(1)[None]
    return shared / np.maximum(areas - shared, 1e-12)
