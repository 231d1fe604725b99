import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.loss.box_iou import box_iou, corners

KINDS = ["iou", "giou", "diou", "ciou"]
ONE = [0.0, 0.0, 2.0, 2.0]
sides = st.floats(0.01, 1)
boxes = st.tuples(st.floats(0, 1), st.floats(0, 1), sides, sides)


def value(one, other, kind):
    return float(
        box_iou(torch.tensor([one], dtype=torch.float64), torch.tensor([other], dtype=torch.float64), kind)
    )


@for_each(
    ("kind", "expected"),
    [
        # Two squares of side 2, shifted by 1 both ways: overlap 1, union 7, hull 9, distance² 2, diagonal² 18.
        ("iou", 1 / 7),
        ("giou", 1 / 7 - 2 / 9),
        ("diou", 1 / 7 - 2 / 18),
        ("ciou", 1 / 7 - 2 / 18),  # the aspect ratios are equal
    ],
)
def test_shifted_squares_have_the_values_of_the_formulas(kind, expected):
    assert value(ONE, [1.0, 1.0, 3.0, 3.0], kind) == pytest.approx(expected, abs=1e-9)


def test_ciou_takes_off_alpha_times_the_difference_of_aspect_ratios():
    # 2 x 2 and 4 x 2 from the same corner: overlap 4, union 8, centers 1 apart, diagonal² 20.
    v = 4 / math.pi**2 * (math.atan(2) - math.atan(1)) ** 2
    alpha = v / (1 - 0.5 + v)
    assert value(ONE, [0.0, 0.0, 4.0, 2.0], "ciou") == pytest.approx(0.5 - 1 / 20 - alpha * v, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_boxes_apart_have_the_values_of_the_formulas_and_a_gradient_that_brings_them_together(kind):
    other = torch.tensor([[10.0, 0.0, 12.0, 2.0]], dtype=torch.float64, requires_grad=True)
    found = box_iou(torch.tensor([ONE], dtype=torch.float64), other, kind)
    expected = {"giou": -(24 - 8) / 24, "diou": -100 / (144 + 4), "ciou": -100 / (144 + 4)}
    assert float(found.detach()) == pytest.approx(expected[kind], abs=1e-9)
    found.sum().backward()
    assert other.grad[0, 0] + other.grad[0, 2] < 0  # to the left


@pytest.mark.parametrize("kind", KINDS)
@given(one=boxes, other=boxes)
def test_equal_boxes_have_1_and_others_less_in_either_order(kind, one, other):
    first, second = (corners(torch.tensor([each], dtype=torch.float64)) for each in (one, other))
    assert float(box_iou(first, first, kind)) == pytest.approx(1, abs=1e-6)
    found, back = float(box_iou(first, second, kind)), float(box_iou(second, first, kind))
    assert found == pytest.approx(back, abs=1e-9)
    assert -2 <= found <= 1 + 1e-9


@for_each("kind", KINDS)
def test_boxes_without_an_area_give_finite_values_and_gradients(kind):
    flat = torch.tensor([[0.5, 0.5, 0.5, 0.5], [0.1, 0.1, 0.9, 0.1]], requires_grad=True)
    other = torch.tensor([[0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 1.0, 1.0]])
    found = box_iou(flat, other, kind)
    found.sum().backward()
    assert found.isfinite().all()
    assert flat.grad.isfinite().all()


def test_the_aspect_term_is_weighted_without_a_gradient_through_its_weight():
    box = torch.tensor([[0.0, 0.0, 3.0, 1.0]], dtype=torch.float64, requires_grad=True)
    other = torch.tensor([[0.0, 0.0, 2.0, 2.0]], dtype=torch.float64)
    box_iou(box, other, "ciou").sum().backward()
    iou = box_iou(box.detach(), other, "iou")
    twin = box.detach().clone().requires_grad_()
    wide, high = twin[:, 2] - twin[:, 0], twin[:, 3] - twin[:, 1]
    v = 4 / math.pi**2 * (math.pi / 4 - torch.atan(wide / high)) ** 2
    alpha = (v / (1 - iou + v)).detach()
    (box_iou(twin, other, "diou") - alpha * v).sum().backward()
    assert torch.allclose(box.grad, twin.grad, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    assert (
        box_iou(torch.ones(1, 4, dtype=dtype), torch.ones(1, 4, dtype=dtype), "ciou").dtype == torch.float32
    )
