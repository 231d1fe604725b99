import pytest
import torch.nn.functional as F

from tests.faults.mutation import put_bug
from trimtab.model.block import Residual
from trimtab.training.preflight.modes import dropout_where_it_belongs


def codes(parts):
    return [(each.code, each.severity) for each in dropout_where_it_belongs(parts)]


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5])
def test_dropout_as_said_is_well(parts_with, dropout):
    assert codes(parts_with(model={"dropout": dropout})) == []


def test_dropout_in_evaluation_is_found(parts, monkeypatch):
    put_bug(monkeypatch, Residual.post, ("self.training", "True"))
    assert codes(parts) == [("E202", "error")]


def test_dropout_that_never_happens_is_found(parts, monkeypatch):
    monkeypatch.setattr(F, "dropout", lambda x, *rest: x)
    (finding,) = dropout_where_it_belongs(parts)
    assert finding.code == "M209"
    assert "dropout is 0.1, and two passes in training with different seeds agree" in finding.message


def test_dropout_that_was_not_asked_for_is_found(parts_with, monkeypatch):
    put_bug(monkeypatch, Residual.post, ("self.dropout, self.training", "0.1, self.training"))
    (finding,) = dropout_where_it_belongs(parts_with(model={"dropout": 0.0}))
    assert finding.code == "M209"
    assert "differs from one in evaluation" in finding.message
