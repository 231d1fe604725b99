import pytest
import torch

from tests.benchmarks.open_benchmark import open_benchmark


@pytest.fixture
def float8(monkeypatch):
    return open_benchmark("lm_float8", monkeypatch)


def made(*, spread=1.0):
    generator = torch.Generator().manual_seed(0)
    x = (spread * torch.randn(32, 48, generator=generator)).requires_grad_()
    weight = (0.02 * torch.randn(16, 48, generator=generator)).requires_grad_()
    return x, weight, torch.randn(32, 16, generator=generator)


def results(function, x, weight, gradient):
    out = function(x, weight)
    return [out.detach(), *torch.autograd.grad(out, (x, weight), gradient.to(out.dtype))]


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e4])
def test_products_and_gradients_err_as_three_bits_of_mantissa_do_at_any_size(float8, spread):
    x, weight, gradient = made(spread=spread)
    truth = results(lambda x, weight: x @ weight.T, x, weight, gradient)
    for one, other in zip(results(float8.float8_product, x, weight, gradient), truth, strict=True):
        assert one.isfinite().all()
        assert (one.float() - other).norm() / other.norm() < 0.06
    assert [each.dtype for each in results(float8.float8_product, x, weight, gradient)[1:]] == [
        torch.float32
    ] * 2


def test_the_largest_value_becomes_the_largest_number_and_zeros_stay(float8):
    x = torch.tensor([[3.0, -6.0, 0.0, 1e-30]])
    assert float8.rounded(x, float8.scale_of(x)).float().abs().amax() == float8.LARGEST
    zeros = torch.zeros(16, 16)
    assert (float8.float8_product(zeros, zeros) == 0).all()


def test_what_is_not_finite_is_not_hidden(float8):
    x, weight, _ = made()
    with torch.no_grad():
        x[0, 0] = torch.nan
    assert float8.float8_product(x, weight).isnan().any()
