import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.loss.ctc import ctc_by_recursion, ctc_losses, untrained_loss


def by_enumeration(log_probabilities, text):
    """The sum over all paths, written out."""
    columns, ids = log_probabilities.shape
    total = 0.0
    for path in itertools.product(range(ids), repeat=columns):
        spelled = [
            one for one, before in zip(path, (None, *path), strict=False) if one != before and one != 0
        ]
        if spelled == text:
            total += math.exp(sum(float(log_probabilities[column, one]) for column, one in enumerate(path)))
    return -math.log(total) if total else 0.0


@given(st.integers(1, 4), st.lists(st.integers(1, 2), max_size=3), st.integers(0, 100))
def test_both_give_the_sum_over_all_ways_to_spell_a_text(columns, text, seed):
    torch.manual_seed(seed)
    scores = torch.randn(columns, 1, 3, dtype=torch.float64).log_softmax(2)
    targets = torch.tensor([[*text, 1]])  # what lies beyond the length counts for nothing
    sizes = {"widths": [columns], "lengths": [len(text)]}
    expected = by_enumeration(scores[:, 0], text)
    for function in (ctc_losses, ctc_by_recursion):
        assert float(function(scores, targets, **sizes)[0]) == pytest.approx(expected, abs=1e-9)


def test_rows_of_several_sizes_have_the_gradient_of_the_slow_twin():
    torch.manual_seed(1)
    first = torch.randn(12, 3, 5, dtype=torch.float64)
    targets = torch.tensor([[1, 2, 2, 4], [3, 1, 1, 1], [4, 4, 1, 2]])
    sizes = {
        "widths": [12, 7, 3],
        "lengths": [4, 1, 3],
    }  # the last has too few columns for its equal neighbors
    grads = []
    for function in (ctc_losses, ctc_by_recursion):
        scores = first.clone().requires_grad_()
        losses = function(scores.log_softmax(2), targets, **sizes)
        assert losses[2] == 0
        losses.sum().backward()
        grads.append((losses.detach(), scores.grad))
    assert torch.allclose(grads[0][0], grads[1][0])
    assert torch.allclose(grads[0][1], grads[1][1], atol=1e-9)


@given(st.integers(1, 20), st.integers(0, 6))
def test_the_loss_of_a_model_that_knows_nothing_is_that_of_equal_probabilities(columns, length):
    if length > columns:
        assert untrained_loss(columns=columns, length=length, num_ids=9) == 0
        return
    scores = torch.zeros(columns, 1, 9, dtype=torch.float64).log_softmax(2)
    targets = torch.arange(1, 8)[None]
    loss = ctc_losses(scores, targets, widths=[columns], lengths=[length])
    assert untrained_loss(columns=columns, length=length, num_ids=9) == pytest.approx(float(loss[0]))
