import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.tasks.diffusion.process import LAST_OF_EPSILON, Process

PREDICTIONS = ["flow", "epsilon", "v", "x0"]
numbers = st.floats(-4, 4)


def wide(*values):
    return torch.tensor(values, dtype=torch.float64)


@given(
    prediction=st.sampled_from(PREDICTIONS), x0=numbers, epsilon=numbers, t=st.floats(0.01, LAST_OF_EPSILON)
)
def test_a_right_prediction_gives_back_image_and_noise(prediction, x0, epsilon, t):
    process, t = Process(prediction=prediction), wide(t)
    x = process.noised(wide(x0), wide(epsilon), t)
    found = process.split(x, process.target(wide(x0), wide(epsilon), t), t)
    assert float(found.x0) == pytest.approx(x0, abs=1e-9)
    assert float(found.epsilon) == pytest.approx(epsilon, abs=1e-9)


@given(one=st.sampled_from(["epsilon", "v", "x0"]), other=st.sampled_from(["epsilon", "v", "x0"]),
       x=numbers, predicted=numbers, t=st.floats(0.02, 0.98))  # fmt: skip
def test_predictions_on_one_schedule_convert_into_each_other(one, other, x, predicted, t):
    t, first, second = wide(t), Process(prediction=one), Process(prediction=other)
    split = first.split(wide(x), wide(predicted), t)
    again = second.split(wide(x), second.target(*split, t), t)
    assert float(again.x0) == pytest.approx(float(split.x0), rel=1e-6, abs=1e-6)
    assert float(again.epsilon) == pytest.approx(float(split.epsilon), rel=1e-6, abs=1e-6)


@given(prediction=st.sampled_from(PREDICTIONS), t=st.floats(0.001, 0.999), x0=numbers, epsilon=numbers)
def test_slopes_are_the_derivative_of_the_noised_image(prediction, t, x0, epsilon):
    process, step = Process(prediction=prediction), 1e-6
    later, earlier = (process.noised(wide(x0), wide(epsilon), wide(t + each)) for each in (step, -step))
    alpha, sigma = process.slopes(wide(t))
    assert float((later - earlier) / (2 * step)) == pytest.approx(
        float(alpha * x0 + sigma * epsilon), abs=1e-4
    )


@pytest.mark.parametrize("gamma", [1.0, 5.0])
def test_min_snr_weights_are_those_of_the_paper(gamma):
    """Hang et al. 2023, arXiv 2303.09556, section 3.4: min(SNR, gamma) for x0, divided by SNR for epsilon and by SNR +
    1 for v; for flow, x0 = x - t u says that an error of u is one of x0 divided by t."""
    t = torch.linspace(0.01, 0.98, 200, dtype=torch.float64)
    snr = (torch.pi / 2 * t).tan() ** -2
    bounded = snr.clamp(max=gamma)
    expected = {"x0": bounded, "epsilon": bounded / snr, "v": bounded / (snr + 1)}
    for prediction, weights in expected.items():
        found = Process(prediction=prediction, weighting="min_snr", snr_gamma=gamma).weight(t)
        torch.testing.assert_close(found, weights, rtol=1e-9, atol=0)
    straight = (((1 - t) / t) ** 2).clamp(max=gamma) * t**2
    flow = Process(prediction="flow", weighting="min_snr", snr_gamma=gamma).weight(t)
    torch.testing.assert_close(flow, straight, rtol=1e-9, atol=0)


@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_are_finite_at_either_end_of_the_schedule(prediction, dtype):
    process = Process(prediction=prediction, weighting="min_snr")
    ends = torch.tensor([0.0, 1e-12, 1e-6, 1 - 1e-6, 1.0], dtype=dtype)
    weights = process.weight(ends)
    assert weights.isfinite().all()
    assert (weights >= 0).all()
    # SNR 0 at the last time and infinite at the first: the limits of the formulas.
    limits = {"epsilon": (0, 1), "x0": (5, 0), "v": (0, 0), "flow": (0, 0)}[prediction]
    assert weights[[0, -1]].tolist() == pytest.approx(limits, abs=1e-9)


@given(shift=st.floats(0.1, 10), t=st.floats(0, 1))
def test_times_are_shifted_once_and_alike_in_training_and_sampling(shift, t):
    process = Process(shift=shift)
    moved = float(process.shifted(wide(t)))
    assert moved == pytest.approx(shift * t / (1 + (shift - 1) * t), abs=1e-12)
    # By the definition of the paper: the logarithm of SNR goes down by twice the logarithm of the shift.
    if 0.01 < t < 0.99:
        before, after = math.log((1 - t) / t), math.log((1 - moved) / moved)
        assert after == pytest.approx(before - math.log(shift), abs=1e-6)
    middle = (torch.arange(8, dtype=torch.float64) + 0.5) / 8
    grid = process.grid(16)
    torch.testing.assert_close(process.times_of(middle), grid.flip(0)[1::2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("times", ["uniform", "logit_normal"])
def test_times_have_the_distribution_of_the_recipe(times):
    uniform = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    found = Process(times=times).times_of(uniform)
    assert (found > 0).all()
    assert (found < 1).all()
    inside = float(((found > 0.25) & (found < 0.75)).double().mean())
    # The logit of a quarter is -ln 3, and a standard normal number is within ln 3 with probability 0.728.
    assert inside == pytest.approx({"uniform": 0.5, "logit_normal": 0.728}[times], abs=0.001)


def test_sampling_by_epsilon_starts_where_the_image_still_matters():
    grid = Process(prediction="epsilon").grid(10)
    assert float(grid[0]) == LAST_OF_EPSILON
    assert float(grid[-1]) == 0
    assert float(Process().grid(10)[0]) == 1


@for_each("prediction", PREDICTIONS)
def test_the_loss_of_predicting_nothing_is_the_mean_square_of_the_target(prediction):
    process = Process(prediction=prediction, times="logit_normal")
    generator = torch.Generator().manual_seed(1)
    x0 = torch.randn(20_000, generator=generator, dtype=torch.float64) * 0.5 + 0.3
    epsilon = torch.randn(20_000, generator=generator, dtype=torch.float64)
    t = process.times_of(torch.rand(20_000, generator=generator, dtype=torch.float64))
    expected = process.untrained_loss(second_moment=float((x0**2).mean()))
    assert float((process.target(x0, epsilon, t) ** 2).mean()) == pytest.approx(expected, rel=0.03)
