import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text_run import text_recipe
from tests.tuning.quadratic import quadratic_trial
from trimtab.config.load import load_recipe
from trimtab.errors import InputError, RunFailed
from trimtab.progress import Silent
from trimtab.tuning.noise_scale import (
    Norms,
    advice,
    estimated,
    find_noise_scale,
    finer_cut,
    measured_scale,
    norms_of_step,
)

DIM, SIGMA = 200, 0.5


def steps_of_points(count, *, parts=8, size=16, seed=0, sigma=SIGMA):
    generator = torch.Generator().manual_seed(seed)
    return [[sigma * torch.randn(size, DIM, generator=generator) for _ in range(parts)] for _ in range(count)]


@pytest.mark.parametrize("curvature", [1.0, 3.0])
def test_a_quadratic_has_the_noise_scale_that_follows_from_its_noise(curvature):
    start = torch.full((DIM,), 0.1)
    # tr(S) / |G|^2 is d (h sigma)^2 / (h |x|)^2: the curvature cancels
    true = DIM * SIGMA**2 / float(start.square().sum())
    trial = quadratic_trial(start, steps_of_points(16), curvature=curvature)
    found = measured_scale(trial, steps=16, progress=Silent())
    assert found.low < true < found.high
    assert found.noise_scale == pytest.approx(true, rel=0.1)
    assert found.noise == pytest.approx(DIM * (curvature * SIGMA) ** 2, rel=0.05)
    assert found.more_targets == pytest.approx(1 + 128 / found.noise_scale)


@pytest.mark.slow
def test_about_as_many_intervals_as_they_promise_hold_the_true_value():
    start = torch.full((DIM,), 0.1)
    true = DIM * SIGMA**2 / float(start.square().sum())
    held = 0
    for seed in range(20):
        trial = quadratic_trial(start, steps_of_points(6, seed=seed))
        found = measured_scale(trial, steps=6, progress=Silent())
        held += found.low < true < found.high
    assert 15 <= held <= 20  # 95% of 40, and no less than chance allows once in a thousand


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_norms_give_the_trace_of_the_sample_covariance_of_micro_batches(sizes, seed):
    generator = torch.Generator().manual_seed(seed)
    packs = [torch.randn(size, 3, generator=generator) for size in sizes]
    trial = quadratic_trial(torch.ones(3), [packs])
    found = norms_of_step(trial, trial.batches(1)[0])
    gradients = torch.stack([1.0 - pack.mean(dim=0) for pack in packs]).double()
    weights = torch.tensor(sizes).double() / sum(sizes)
    whole = (weights[:, None] * gradients).sum(dim=0)
    assert found.whole == pytest.approx(float(whole.square().sum()), rel=1e-4, abs=1e-5)
    if len(set(sizes)) == 1:  # then it is the textbook estimator, times the targets of each
        covariance = (gradients - gradients.mean(dim=0)).square().sum() / (len(sizes) - 1)
        assert found.noise == pytest.approx(sizes[0] * float(covariance), rel=1e-3, abs=1e-4)


def test_nothing_moves_to_the_last_bit():
    trial = quadratic_trial(torch.ones(DIM), steps_of_points(3))
    before, drawn = trial.parts.model.x.detach().clone(), torch.get_rng_state()
    measured_scale(trial, steps=3, progress=Silent())
    assert torch.equal(trial.parts.model.x, before)
    assert trial.parts.model.x.grad is None
    assert torch.equal(torch.get_rng_state(), drawn)


def test_a_gradient_that_is_all_noise_has_no_scale():
    found = measured_scale(quadratic_trial(torch.zeros(DIM), steps_of_points(8)), steps=8, progress=Silent())
    assert math.isinf(found.high)
    assert found.to_dict()["interval"][1] is None
    if math.isinf(found.noise_scale):
        assert "too small to separate from the noise" in advice(found)[0]


def test_equal_micro_batches_have_no_noise():
    norms = Norms(whole=4.0, num_targets=4, parts=(4.0, 4.0), targets=(2, 2))
    assert (norms.noise, norms.signal) == (0.0, 4.0)
    assert estimated([norms, norms])[2] == 0.0


def test_a_gradient_that_is_no_number_ends_the_measurement():
    steps = [[torch.full((2, DIM), math.nan)] * 2] * 2
    with pytest.raises(RunFailed, match="not finite"):
        measured_scale(quadratic_trial(torch.ones(DIM), steps), steps=2, progress=Silent())


def test_advice_follows_the_side_of_the_noise_scale():
    trial = quadratic_trial(torch.full((DIM,), 0.1), steps_of_points(8))
    found = measured_scale(trial, steps=8, progress=Silent())
    assert found.rate_at(4 * found.tokens_per_step) == pytest.approx(1.0)  # SGD: in proportion
    assert "in proportion to" in "\n".join(advice(found))
    loud = measured_scale(quadratic_trial(torch.ones(DIM), steps_of_points(8)), steps=8, progress=Silent())
    assert "above the noise scale" in "\n".join(advice(loud))
    quiet = quadratic_trial(torch.full((DIM,), 0.02), steps_of_points(8))
    assert "Larger steps" in "\n".join(advice(measured_scale(quiet, steps=8, progress=Silent())))


def test_a_step_is_cut_finer_and_keeps_its_tokens(tmp_path):
    recipe = load_recipe(text_recipe(tmp_path, **{"step.tokens_per_step": 512})).recipe
    assert finer_cut(recipe) == {
        "gradients": "kept",
        "tokens_per_micro_batch": 64,
        "source_tokens_per_micro_batch": None,
    }
    with pytest.raises(InputError) as caught:
        finer_cut(load_recipe(tmp_path / "text.yaml", ["step.tokens_per_step=64"]).recipe)
    assert "two micro-batches" in str(caught.value)


def test_a_language_model_has_a_noise_scale(tmp_path):
    found = find_noise_scale(text_recipe(tmp_path), steps=3)
    assert 0 < found.low <= found.noise_scale <= found.high
    assert found.tokens_per_step == 256
    assert all(sum(each.targets) == each.num_targets for each in found.measured)
