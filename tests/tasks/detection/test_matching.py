import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tasks.detection import matching
from trimtab.tasks.detection.matching import assign, match, solver

costs = st.integers(1, 4).flatmap(
    lambda rows: st.integers(rows, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(-9, 9), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


@given(costs)
def test_no_other_assignment_is_cheaper(rows):
    given_costs = np.array(rows, float)
    found = assign(given_costs)
    numbers = range(len(rows))
    best = min(
        sum(given_costs[row, column] for row, column in zip(numbers, each, strict=True))
        for each in itertools.permutations(range(given_costs.shape[1]), len(rows))
    )
    assert len({*found.tolist()}) == len(rows)
    assert given_costs[[*numbers], found].sum() == pytest.approx(best)


def test_without_scipy_the_same_assignment_is_found(monkeypatch):
    optimize = pytest.importorskip("scipy.optimize")
    draw = np.random.default_rng(0)
    monkeypatch.setattr(matching, "find_spec", lambda name: None)
    assert solver() is assign
    for _ in range(20):
        given_costs = draw.normal(size=(7, 30))
        assert assign(given_costs).tolist() == optimize.linear_sum_assignment(given_costs)[1].tolist()


def _given(layers=2):
    boxes = torch.tensor([[0.2, 0.2, 0.1, 0.1], [0.8, 0.8, 0.2, 0.2], [0.5, 0.5, 0.3, 0.3]])
    return torch.zeros(layers, 2, 3, 2), boxes.expand(layers, 2, 3, 4)


def test_objects_get_the_queries_of_their_own_image_that_fit_best():
    logits, boxes = _given()
    targets = (
        torch.tensor([0, 1, 1]),
        torch.tensor([[0.8, 0.8, 0.2, 0.2], [0.2, 0.2, 0.1, 0.1], [0.5, 0.5, 0.3, 0.3]]),
    )
    assert match(logits, boxes, targets, (1, 2)).tolist() == [[1, 0, 2]] * 2
    assert match(logits, boxes, targets, (1, 2), softmax=True).tolist() == [[1, 0, 2]] * 2


def test_images_without_objects_match_nothing():
    logits, boxes = _given()
    assert match(logits, boxes, (torch.zeros(0, dtype=torch.long), torch.zeros(0, 4)), (0, 0)).shape == (2, 0)


def test_predictions_that_are_not_finite_are_matched_and_not_refused():
    logits, boxes = _given()
    targets = torch.tensor([0, 1]), torch.rand(2, 4)
    found = match(logits * torch.nan, boxes * torch.inf, targets, (1, 1))
    assert ((found >= 0) & (found < 3)).all()
