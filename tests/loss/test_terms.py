import math

import pytest
import torch
import torch.nn.functional as F

from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms


def some():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(6, 8, generator=generator), torch.randn(64, 8, generator=generator), torch.arange(6)


def test_by_default_it_is_plain_cross_entropy_over_the_vocabulary():
    hidden, matrix, labels = some()
    out = plain_cross_entropy(hidden, matrix, labels, Terms(60))
    expected = F.cross_entropy((hidden @ matrix.T)[:, :60], labels, reduction="sum")
    torch.testing.assert_close(out.objective, expected)
    torch.testing.assert_close(out.loss, expected)


def test_each_weight_adds_its_own_term_to_the_objective_and_nothing_to_the_loss():
    hidden, matrix, labels = some()
    logits = (hidden @ matrix.T)[:, :60]
    smooth = F.cross_entropy(logits, labels, label_smoothing=0.2, reduction="sum")
    z = 0.01 * logits.logsumexp(1).square().sum()
    plain = plain_cross_entropy(hidden, matrix, labels, Terms(60))
    for terms, expected in (
        (Terms(60, label_smoothing=0.2), smooth),
        (Terms(60, z_loss=0.01), plain.loss + z),
        (Terms(60, 0.2, 0.01), smooth + z),
    ):
        out = plain_cross_entropy(hidden, matrix, labels, terms)
        torch.testing.assert_close(out.objective, expected)
        torch.testing.assert_close(out.loss, plain.loss)


def test_terms_are_values_that_cannot_be_changed():
    assert Terms(60, 0.1) == Terms(num_ids=60, label_smoothing=0.1, z_loss=0.0)
    with pytest.raises(AttributeError):
        Terms(60).num_ids = 61


def test_by_default_nothing_is_left_out():
    assert Terms(60).truncate_above == math.inf


def test_a_cap_squashes_logits_before_the_softmax():
    hidden, matrix, labels = some()
    logits = 2.0 * torch.tanh((hidden @ matrix.T)[:, :60] / 2.0)
    out = plain_cross_entropy(hidden, matrix, labels, Terms(60, logit_cap=2.0))
    torch.testing.assert_close(out.loss, F.cross_entropy(logits, labels, reduction="sum"))
