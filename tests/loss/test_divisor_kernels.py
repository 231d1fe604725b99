import pytest
import torch

from tests.gpu.triton_here import DEVICE
from tests.loss.test_guided_alignment import found, stream
from trimtab.loss import guided_alignment
from trimtab.loss.guided_alignment import alignment_loss, plain_alignment_loss

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []
LENGTHS = [[3, 4], [1, 70, 2, 33, 64, 5], [200, 1]], [[5, 2], [90, 1, 0, 31, 65, 3], [1, 150]]


@pytest.fixture(autouse=True)
def by_kernels(monkeypatch):
    """Also where Triton interprets."""
    monkeypatch.setattr(guided_alignment, "triton_runs_on", lambda device: True)


@pytest.mark.parametrize("size", [8, 32, 48, 64])
@pytest.mark.parametrize(("targets", "sources"), list(zip(*LENGTHS, strict=True)))
def test_the_kernels_give_what_their_slow_twin_gives(targets, sources, size):
    pair = stream(targets), stream(sources)
    fast = found(alignment_loss, *pair, size=size, device=DEVICE)
    for one, other in zip(fast, found(plain_alignment_loss, *pair, size=size), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_gradients_of_half_precision_are_those_of_float32_rounded():
    pair, half = (stream([30, 40]), stream([25, 50])), torch.float16
    loss, *grads = found(alignment_loss, *pair, size=32, device=DEVICE, dtype=half)
    exact, *others = found(plain_alignment_loss, *pair, size=32, dtype=half)
    torch.testing.assert_close(loss, exact.float(), rtol=1e-2, atol=1e-2)
    for one, other in zip(grads, others, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


def test_empty_segments_have_no_effect():
    _, *grads = found(alignment_loss, stream([2, 1, 2]), stream([3, 0, 1]), size=32, device=DEVICE)
    assert all(each.isfinite().all() for each in grads)
    assert grads[0][2].abs().sum() == 0


def test_the_bits_are_the_same_twice_in_a_deterministic_run():
    pair = stream([30, 40, 7]), stream([25, 50, 9])
    torch.use_deterministic_algorithms(True)
    once, twice = (found(alignment_loss, *pair, size=32, device=DEVICE) for _ in range(2))
    torch.use_deterministic_algorithms(False)
    assert all(torch.equal(one, other) for one, other in zip(once, twice, strict=True))
