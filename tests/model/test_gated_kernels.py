import pytest
import torch

from tests.gpu.triton_here import DEVICE
from trimtab.model.gated import swiglu_plain
from trimtab.model.gated_kernels import COLUMNS, swiglu_backward, swiglu_forward

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []


@pytest.mark.parametrize("width", [3, COLUMNS, COLUMNS + 1])
def test_rows_of_a_wider_matrix_are_read_where_they_lie_and_nothing_is_written_beyond_them(width):
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(3, 2 * width + 5, generator=generator).to(DEVICE)
    both, gradient = wide[:, 2 : 2 * width + 2], wide[:, :width]
    given = both.detach().clone().requires_grad_()
    truth = swiglu_plain(given)
    torch.testing.assert_close(swiglu_forward(both), truth.detach())
    (wanted,) = torch.autograd.grad(truth, given, gradient)
    found = swiglu_backward(gradient, both)
    torch.testing.assert_close(found, wanted)
    assert found.is_contiguous()


def test_extreme_gates_are_finite():
    both = torch.tensor([[-200.0, 200.0, 0.0, 3.0, 3.0, 3.0]], device=DEVICE)
    torch.testing.assert_close(swiglu_forward(both).cpu(), torch.tensor([[0.0, 600.0, 0.0]]))
    gradient = swiglu_backward(torch.ones(1, 3, device=DEVICE), both)
    torch.testing.assert_close(gradient.cpu(), torch.tensor([[0.0, 3.0, 1.5, 0.0, 200.0, 0.0]]))
