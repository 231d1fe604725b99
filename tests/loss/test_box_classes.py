import math

import pytest
import torch

from trimtab.loss.box_classes import focal_loss, softmax_loss, varifocal_loss


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_focal_loss_has_the_value_of_equation_5():
    logits, targets = torch.tensor([[1.0, -2.0]]), torch.tensor([[1.0, 0.0]])
    one, other = sigmoid(1.0), sigmoid(-2.0)
    expected = -0.25 * (1 - one) ** 2 * math.log(one) - 0.75 * other**2 * math.log(1 - other)
    assert float(focal_loss(logits, targets)) == pytest.approx(expected, rel=1e-5)


def test_varifocal_loss_has_the_value_of_equation_2():
    logits, quality = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.8, 0.0]])
    one, other = sigmoid(1.0), sigmoid(-2.0)
    hit = -0.8 * (0.8 * math.log(one) + 0.2 * math.log(1 - one))
    miss = -0.75 * other**2 * math.log(1 - other)
    assert float(varifocal_loss(logits, quality)) == pytest.approx(hit + miss, rel=1e-5)


def test_softmax_loss_weighs_no_object_by_a_tenth():
    logits = torch.zeros(2, 3)
    found = softmax_loss(logits, torch.tensor([0, 2]))
    assert found.tolist() == pytest.approx([math.log(3), 0.1 * math.log(3)])
