import pytest
import torch

from tests.gpu.triton_here import DEVICE
from trimtab.model import gated
from trimtab.model.gated import swiglu, swiglu_op, swiglu_plain

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []


def made(rows, width, dtype):
    """What goes in, as a part of something wider, and the weight of each output."""
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(rows, 2 * width + 3, generator=generator).to(DEVICE, dtype)
    return wide[:, 1 : 2 * width + 1].requires_grad_(), torch.randn(rows, width, generator=generator).to(wide)


def results(function, both, weight):
    out = function(both)
    return [out.detach(), *torch.autograd.grad(out, both, weight)]


@pytest.mark.parametrize("by_kernel", [True, False])
@pytest.mark.parametrize("width", [1, 96, 1300])
def test_values_and_gradients_are_those_of_the_plain_operations(monkeypatch, width, by_kernel):
    monkeypatch.setattr(gated, "runs_on", lambda _: by_kernel)
    both, weight = made(3, width, torch.float32)
    for one, other in zip(results(swiglu_op, both, weight), results(swiglu_plain, both, weight), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_half_precision_errs_no_more_than_the_plain_operations(monkeypatch):
    monkeypatch.setattr(gated, "runs_on", lambda _: True)
    both, weight = made(4, 256, torch.float16)  # Triton cuts bfloat16 off where it interprets
    truth = results(swiglu_plain, both.detach().double().requires_grad_(), weight.double())
    fast, slow = (
        [float((a.double() - b).norm() / b.norm()) for a, b in zip(each, truth, strict=True)]
        for each in (results(swiglu_op, both, weight), results(swiglu_plain, both, weight))
    )
    assert all(one <= other + 1e-4 for one, other in zip(fast, slow, strict=True)), (fast, slow)


def test_any_shape_of_rows_is_taken_and_a_cpu_takes_plain_operations():
    both = torch.randn(2, 3, 8, device=DEVICE)
    assert torch.equal(swiglu(both), swiglu_plain(both))
    half = both.bfloat16()
    torch.testing.assert_close(swiglu(half), swiglu_plain(half), rtol=2e-2, atol=2e-2)
