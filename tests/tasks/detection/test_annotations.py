import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tasks.detection.annotations import MOST_NAMED, Collected, Faults, checked

numbers = st.floats(-50, 150)


@given(st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=6))
def test_each_box_is_kept_inside_its_image_or_counted_once(boxes):
    faults = Faults()
    kept = [box for _, box in checked([(0, box, "here") for box in boxes], (100.0, 80.0), faults)]
    assert len(kept) + faults.left_out == len(boxes)
    for left, top, right, bottom in kept:
        assert 0 <= left < right <= 100
        assert 0 <= top < bottom <= 80


def test_as_many_are_named_as_a_message_holds_and_all_are_counted():
    faults = Faults()
    for number in range(MOST_NAMED + 5):
        faults.add("odd", f"place {number}")
    assert len(faults.places["odd"]) == MOST_NAMED
    assert faults.said("odd", most=2) == f"{MOST_NAMED + 5} x odd: place 0; place 1 ..."


def test_collected_boxes_stand_one_image_after_another():
    collected = Collected(Faults())
    collected.add([(1, [0.0, 0.0, 5.0, 5.0], "a"), (0, [1.0, 1.0, 2.0, 2.0], "b")], size=None)
    collected.add([], size=None)
    offsets, boxes, categories = collected.arrays()
    assert offsets.tolist() == [0, 2, 2]
    assert boxes.shape == (2, 4)
    assert categories.tolist() == [1, 0]
    assert Collected(Faults()).arrays()[1].shape == (0, 4)
    assert np.dtype(np.int64) == offsets.dtype
