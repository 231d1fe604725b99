import itertools

import pytest
import torch

from trimtab.tasks.diffusion.process import Process
from trimtab.tasks.diffusion.samplers import guided, sample

MEAN, STD = 0.4, 0.3


def of_gaussian(process):
    """The best prediction where images are one number from a normal distribution, in closed form."""

    def predict(x, t):
        t = t.view(-1, 1)
        alpha, sigma = process.factors(t)
        variance = alpha**2 * STD**2 + sigma**2
        x0 = MEAN + alpha * STD**2 / variance * (x - alpha * MEAN)
        epsilon = sigma / variance * (x - alpha * MEAN)
        return process.target(x0, epsilon, t)

    return predict


@pytest.mark.quick(shift=[1.0])
@pytest.mark.parametrize("sampler", ["euler", "ddim"])
@pytest.mark.parametrize("prediction", ["flow", "epsilon", "v", "x0"])
@pytest.mark.parametrize("shift", [1.0, 3.0])
def test_samples_of_a_gaussian_have_its_mean_and_variance(prediction, sampler, shift):
    process = Process(prediction=prediction, shift=shift)
    noise = torch.randn(1000, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    noise = (noise - noise.mean()) / noise.std()
    found = sample(of_gaussian(process), noise, process, sampler=sampler, steps=200)
    assert float(found.mean()) == pytest.approx(MEAN, abs=0.01)
    assert float(found.std()) == pytest.approx(STD, rel=0.03)


def test_on_a_straight_line_both_samplers_are_one():
    process, noise = Process(), torch.linspace(-2, 2, 50, dtype=torch.float64)[:, None]
    both = [sample(of_gaussian(process), noise, process, sampler=each, steps=7) for each in ("euler", "ddim")]
    torch.testing.assert_close(*both, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sampler", ["euler", "ddim"])
def test_more_steps_come_closer_to_the_exact_flow(sampler):
    """Of a Gaussian the flow keeps how many standard deviations a number is from the mean."""
    process, noise = Process(prediction="v"), torch.linspace(-2, 2, 9, dtype=torch.float64)[:, None]
    exact = MEAN + STD * noise
    errors = [
        float(
            (sample(of_gaussian(process), noise, process, sampler=sampler, steps=steps) - exact).abs().max()
        )
        for steps in (10, 20, 40, 80)
    ]
    # Of the first order: half the steps, twice the error.
    assert all(1.6 < more / fewer < 2.6 for more, fewer in itertools.pairwise(errors))


def test_what_is_clipped_stays_within_bounds_and_on_the_way_of_its_noise():
    process, noise = Process(), torch.full((3, 1), 1.5, dtype=torch.float64)
    found = sample(lambda x, t: -20 * torch.ones_like(x), noise, process, steps=5, clip=1.0)
    assert torch.equal(found, torch.ones_like(found))
    unbound = sample(of_gaussian(process), noise, process, steps=9)
    assert torch.equal(sample(of_gaussian(process), noise, process, steps=9, clip=50.0), unbound)


def test_guidance_goes_from_no_class_through_the_class_and_beyond():
    calls = []

    def conditional(x, t, labels):
        calls.append(len(x))
        return labels.to(x.dtype)[:, None].expand_as(x)

    x, t, labels = torch.zeros(3, 2), torch.ones(3), torch.tensor([0, 1, 2])
    for scale, expected in ((0.0, [5, 5, 5]), (1.0, [0, 1, 2]), (3.0, [-10, -7, -4])):
        found = guided(conditional, labels, scale=scale, no_class=5)(x, t)
        assert found[:, 0].tolist() == expected
    assert calls == [3, 3, 6]
    assert guided(conditional, torch.full((3,), 5), scale=3.0, no_class=5)(x, t)[0, 0] == 5
    assert calls[-1] == 3
