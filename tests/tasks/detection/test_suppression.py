import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tasks.detection.suppression import pairwise_iou, suppressed

BOXES = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [2, 2, 6, 6], [0, 0, 10, 10]], float)
SCORES, KINDS = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0, 0, 0, 1])


def test_duplicates_of_a_category_go_and_nested_ones_by_containment_alone():
    assert suppressed(BOXES, SCORES, KINDS, nms="none").tolist() == [0, 1, 2, 3]
    assert suppressed(BOXES, SCORES, KINDS, nms="iou").tolist() == [0, 2, 3]
    assert suppressed(BOXES, SCORES, KINDS, nms="iou_containment").tolist() == [0, 3]


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 4, st.integers(0, 1)), max_size=12))
def test_no_two_that_remain_overlap_by_more_and_what_goes_overlaps_a_better_one(rows):
    boxes = np.array([[a, b, a + c, b + d] for a, b, c, d, _ in rows], float).reshape(-1, 4)
    kinds = np.array([each[4] for each in rows], np.int64)
    scores = np.linspace(1, 0, len(rows))
    kept = suppressed(boxes, scores, kinds, nms="iou", iou=0.5)
    overlap = pairwise_iou(boxes, boxes)
    for one in range(len(rows)):
        better = [each for each in kept if each < one and kinds[each] == kinds[one]]
        assert (one in kept) == all(overlap[one, each] <= 0.5 for each in better)
