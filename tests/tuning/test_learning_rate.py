import math

import pytest
import torch

from tests.tuning.quadratic import quadratic_trial
from trimtab.errors import RunFailed
from trimtab.progress import Silent
from trimtab.tuning.learning_rate import HELD, RateTried, judged, rate_range, rates_between

STEPS, CURVATURE = 8, 4.0


def bowl(start=1.0):
    """No noise: the loss after steps of rates r is h/2 d (x prod(1 - r h))^2."""
    return quadratic_trial(
        torch.full((5,), start), [[torch.zeros(1, 5)]] * (STEPS + HELD), curvature=CURVATURE
    )


def loss_after(rate):
    x, rise = 1.0, 2
    for number in range(STEPS):
        x *= 1 - rate * min(1.0, (number + 1) / rise) * CURVATURE
    return CURVATURE / 2 * 5 * x**2


def test_a_quadratic_is_best_at_the_rate_of_its_curvature_and_diverges_from_twice_that():
    rates = [0.0025, 0.025, 0.1, 0.25, 0.4, 0.6, 0.9, 2.0]
    found = rate_range(bowl(), steps=STEPS, rates=rates, progress=Silent())
    for each in found.tried:
        assert each.loss == pytest.approx(loss_after(each.learning_rate), rel=1e-3, abs=1e-9)
    assert found.best.learning_rate == 0.25  # 1 / h
    assert found.edge.learning_rate == 0.6  # above 2 / h
    assert found.tried[-1].learning_rate == 0.9  # two that diverge are enough
    assert found.suggested <= found.edge.learning_rate / 3
    assert "a third of that rate" in found.reason or "as good" in found.reason or found.suggested == 0.1


def test_each_rate_begins_from_the_same_state_and_leaves_it_to_the_last_bit():
    trial = bowl()
    before = trial.parts.model.x.detach().clone()
    together = rate_range(trial, steps=STEPS, rates=[0.01, 0.3, 0.1], progress=Silent())
    assert torch.equal(trial.parts.model.x, before)
    alone = rate_range(bowl(), steps=STEPS, rates=[0.1], progress=Silent())
    assert together.tried[-1] == alone.tried[0]


def test_a_loss_that_is_no_number_at_the_start_ends_the_test():
    with pytest.raises(RunFailed, match="not finite before"):
        rate_range(bowl(start=math.nan), steps=STEPS, rates=[0.1], progress=Silent())


def of(rate, loss):
    return RateTried(rate, loss, (2.0,))


def test_ties_go_to_the_higher_rate_and_the_edge_is_kept_away_from():
    best, edge, rate, reason = judged([of(0.01, 1.02), of(0.03, 1.0), of(0.1, 1.03), of(0.3, 3.0)], 2.0)
    assert (best.learning_rate, edge.learning_rate, rate) == (0.03, 0.3, 0.1)
    assert "short runs favor low rates" in reason
    best, edge, rate, reason = judged([of(0.01, 1.9), of(0.1, 1.0), of(0.15, math.nan)], 2.0)
    assert rate == pytest.approx(0.05)
    assert "a third of that rate" in reason


def test_nothing_is_suggested_where_nothing_is_learned():
    assert judged([of(0.1, 2.0), of(1.0, math.nan)], 2.0)[2] is None


def test_a_best_rate_at_the_upper_end_says_so():
    assert "try higher ones" in judged([of(0.01, 1.9), of(0.1, 1.0)], 2.0)[3]


def test_rates_are_even_on_a_logarithmic_axis():
    assert rates_between(1e-3, 1e-1) == pytest.approx([1e-3, 3.16e-3, 1e-2, 3.16e-2, 1e-1])
    assert rates_between(1e-3, 2e-3) == [1e-3, 2e-3]
