import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from trimtab.model.low_rank import with_low_rank

SIZES = st.integers(1, 9)


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def both(input, weight, first, second, bias):
    """The fast product and the obvious one, each with the gradients of a weighted sum."""
    wanted = F.linear(input, weight, bias) + F.linear(F.linear(input, first), second)
    found = with_low_rank(input, weight.detach(), first, second, bias.detach())
    by = torch.randn_like(wanted)
    inputs = (input, first, second)
    return [(each, *torch.autograd.grad(each, inputs, by)) for each in (found, wanted)]


@given(
    dim=SIZES, out=SIZES, rank=SIZES, rows=st.lists(st.integers(1, 4), max_size=2), seed=st.integers(0, 99)
)
def test_the_product_and_its_gradients_are_those_of_three_maps(dim, out, rank, rows, seed):
    torch.manual_seed(seed)
    found, wanted = both(
        drawn(*rows, 2, dim), drawn(out, dim), drawn(rank, dim), drawn(out, rank), drawn(out)
    )
    torch.testing.assert_close(found, wanted)


def test_a_second_matrix_of_zeros_changes_no_bit():
    torch.manual_seed(1)
    input, weight, first = torch.randn(7, 24), torch.randn(40, 24), torch.randn(4, 24)
    assert torch.equal(with_low_rank(input, weight, first, torch.zeros(40, 4)), F.linear(input, weight))


def test_a_trained_map_is_refused_since_its_gradient_would_be_missing():
    input, first, second = torch.randn(3, 4), torch.randn(2, 4), torch.randn(5, 2)
    trained = torch.randn(5, 4, requires_grad=True)
    with pytest.raises(ValueError, match="frozen"):
        with_low_rank(input, trained, first, second)
    with torch.no_grad():
        assert with_low_rank(input, trained, first, second).shape == (3, 5)


@pytest.mark.parametrize("asked", [True, False])
def test_an_input_without_gradient_costs_none(asked):
    input = torch.randn(3, 4, requires_grad=asked)
    first, second = torch.randn(2, 4, requires_grad=True), torch.randn(5, 2, requires_grad=True)
    with_low_rank(input, torch.randn(5, 4), first, second).sum().backward()
    assert (input.grad is not None) == asked
    assert first.grad is not None
    assert second.grad is not None


def test_autocast_decides_the_precision_and_gradients_come_in_that_of_the_weights():
    input, weight = torch.randn(3, 16), torch.randn(8, 16, dtype=torch.bfloat16)
    first, second = torch.randn(2, 16, requires_grad=True), torch.randn(8, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = with_low_rank(input, weight, first, second)
    assert found.dtype == torch.bfloat16
    found.float().sum().backward()
    assert first.grad.dtype == second.grad.dtype == torch.float32


@pytest.mark.gpu
@pytest.mark.parametrize("out", [24, 192])
def test_a_gpu_agrees_in_half_precision(out):
    torch.manual_seed(2)
    given = [torch.randn(shape, device="cuda") for shape in ((257, 64), (out, 64), (8, 64), (out, 8))]
    input, weight, first, second = (each.requires_grad_() for each in given)
    wanted = F.linear(input, weight) + F.linear(F.linear(input, first), second)
    by = torch.randn_like(wanted)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = with_low_rank(input, weight.detach(), first, second)
    pairs = zip(
        (found.float(), *torch.autograd.grad(found, (input, first, second), by.to(found.dtype))),
        (wanted, *torch.autograd.grad(wanted, (input, first, second), by)),
        strict=True,
    )
    for mine, theirs in pairs:
        assert (mine.float() - theirs).norm() < 0.01 * theirs.norm()
