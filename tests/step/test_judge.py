import math

import pytest
import torch

from trimtab.config.guard import GuardConfig
from trimtab.step.judge import judge, must_skip
from trimtab.step.loss_scale import LossScale
from trimtab.step.outlier_gate import OutlierGate
from trimtab.types import LossOutput, SkipReason

CPU = torch.device("cpu")
NEVER, BROKEN = torch.tensor(False), (math.nan, math.inf, -math.inf)


@pytest.mark.parametrize("bad", BROKEN)
def test_anything_not_finite_is_refused(bad):
    good = torch.tensor(1.0)
    assert must_skip(torch.tensor(bad), good)
    assert must_skip(good, torch.tensor(bad))
    assert not must_skip(good, good)


def verdict(*, objective=1.0, grad_norm=1.0, loss=1.0, scale=None, gate=None):
    total = LossOutput(torch.tensor(objective), torch.tensor(loss))
    found = judge(
        total, torch.tensor(grad_norm), scale=scale or LossScale(enabled=False, device=CPU), gate=gate
    )
    return SkipReason(int(found))


def scaled(start):
    return LossScale(enabled=True, device=CPU, start=start)


@pytest.mark.parametrize("bad", BROKEN)
@pytest.mark.parametrize("factor", [1.25, 2.0, 2.0**16])
def test_a_broken_gradient_above_a_factor_of_one_is_an_overflow_that_a_lower_one_mends(bad, factor):
    assert verdict(grad_norm=bad, scale=scaled(factor)) == SkipReason.OVERFLOW


@pytest.mark.parametrize("bad", BROKEN)
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_at_a_factor_of_one_it_is_the_model_that_is_broken(bad, factor):
    assert verdict(grad_norm=bad, scale=scaled(factor)) == SkipReason.NOT_FINITE


@pytest.mark.parametrize("bad", BROKEN)
def test_a_broken_objective_is_never_an_overflow_for_it_is_not_scaled(bad):
    assert verdict(objective=bad, scale=scaled(2.0**16)) == SkipReason.NOT_FINITE
    assert verdict(objective=bad, grad_norm=bad, scale=scaled(2.0**16)) == SkipReason.NOT_FINITE


@pytest.mark.parametrize("bad", BROKEN)
def test_without_scaling_nothing_is_an_overflow_whatever_the_factor_says(bad):
    assert verdict(grad_norm=bad, scale=LossScale(enabled=False, device=CPU)) == SkipReason.NOT_FINITE


@pytest.mark.parametrize("scale", [None, scaled(2.0**16), scaled(1.0)])
def test_a_finite_step_is_applied(scale):
    assert verdict(scale=scale) == SkipReason.NONE


def knowing_gate():
    gate = OutlierGate(GuardConfig(window=16, active_from=8))
    for _ in range(8):
        gate(torch.tensor(1.0), torch.tensor(1.0))
        gate.after(NEVER)
    return gate


def test_of_a_large_loss_and_a_large_gradient_the_loss_is_told_and_of_a_broken_step_that_it_is_broken():
    gate = knowing_gate()
    assert verdict(gate=gate) == SkipReason.NONE
    assert verdict(loss=50.0, gate=gate) == SkipReason.LOSS_SPIKE
    assert verdict(grad_norm=50.0, gate=gate) == SkipReason.GRADIENT_SPIKE
    assert verdict(loss=50.0, grad_norm=50.0, gate=gate) == SkipReason.LOSS_SPIKE
    assert verdict(loss=50.0, objective=math.nan, gate=gate) == SkipReason.NOT_FINITE
    assert verdict(loss=50.0, grad_norm=math.inf, gate=gate, scale=scaled(2.0)) == SkipReason.OVERFLOW
