import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.step import ClipGlobalNorm, ClipOff
from trimtab.errors import InputError
from trimtab.step.clip.build import build_clip
from trimtab.step.clip.global_norm import clip_global_norm


@given(
    st.lists(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=5), min_size=1, max_size=4),
    st.floats(0.01, 1000),
)
def test_it_equals_pytorchs_clipping(values, at):
    gradients = [torch.tensor(row) for row in values]
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, g in zip(parameters, gradients, strict=True):
        parameter.grad = g.clone()
    expected = torch.nn.utils.clip_grad_norm_(parameters, at)
    norm, clipped = clip_global_norm(gradients, at=at)
    torch.testing.assert_close(norm, expected)
    assert bool(clipped) == bool(expected > at)
    for g, parameter in zip(gradients, parameters, strict=True):
        torch.testing.assert_close(g, parameter.grad, rtol=1e-4, atol=1e-5)


def test_a_norm_at_the_bound_is_left_exactly_as_it_is():
    gradients = [torch.tensor([3.0]), torch.tensor([4.0])]
    norm, clipped = build_clip(ClipGlobalNorm(at=5.0))(gradients)
    assert (norm, clipped) == (5, 0)
    assert gradients == [3, 4]


def test_off_measures_and_changes_nothing():
    gradients = [torch.tensor([30.0, 40.0])]
    norm, clipped = build_clip(ClipOff())(gradients)
    assert (norm, clipped) == (50, 0)
    assert gradients[0].tolist() == [30, 40]


def test_a_loss_scale_is_taken_out_before_the_norm_is_judged():
    gradients = [torch.tensor([30.0, 40.0])]
    norm, clipped = clip_global_norm(gradients, at=1.0, unscale=torch.tensor(0.01))
    torch.testing.assert_close((norm, clipped), (torch.tensor(0.5), torch.tensor(0.0)))
    torch.testing.assert_close(gradients[0], torch.tensor([0.3, 0.4]))


def test_a_bad_number_anywhere_makes_the_norm_not_finite():
    norm, _ = clip_global_norm([torch.ones(3), torch.tensor([1.0, torch.nan])], at=1.0)
    assert not norm.isfinite()


def test_parameters_are_clipped_as_torch_clips_them_and_keep_their_values():
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    for model in (ours, theirs):
        (10 * model(torch.ones(2, 4))).sum().backward()
    before = [parameter.detach().clone() for parameter in ours.parameters()]
    norm, clipped = clip_global_norm(ours.parameters(), at=1.0)
    expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
    assert (torch.equal(norm, expected), float(clipped)) == (True, 1.0)
    for mine, other, old in zip(ours.parameters(), theirs.parameters(), before, strict=True):
        assert torch.equal(mine, old)
        torch.testing.assert_close(mine.grad, other.grad)


@pytest.mark.parametrize("at", [0.0, -1.0, math.nan])
def test_a_bound_that_is_not_above_zero_is_refused_and_changes_nothing(at):
    gradient = torch.tensor([3.0, 4.0])
    with pytest.raises(InputError, match=r"clip_global_norm: at: .*\n.*\n  allowed a number above 0\n  fix "):
        clip_global_norm([gradient], at=at)
    assert gradient.tolist() == [3.0, 4.0]


def test_an_infinite_bound_only_measures():
    gradient = torch.tensor([3.0, 4.0])
    norm, clipped = clip_global_norm([gradient], at=math.inf)
    assert (float(norm), float(clipped), gradient.tolist()) == (5.0, 0.0, [3.0, 4.0])


def test_parameters_without_gradients_have_a_norm_of_zero():
    norm, clipped = clip_global_norm(torch.nn.Linear(2, 2).parameters(), at=1.0)
    assert (float(norm), float(clipped)) == (0.0, 0.0)
