import math

import pytest
import torch

from tests.gpu.triton_here import DEVICE
from tests.loss.test_rows import pieces, summed
from trimtab.loss.chunked import chunked_cross_entropy
from trimtab.loss.row_kernels import KERNELS
from trimtab.loss.rows import loss_output
from trimtab.loss.terms import Terms

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []


@pytest.mark.parametrize("truncate", [math.inf, 1.2])
@pytest.mark.parametrize(("smoothing", "z_loss"), [(0.0, 0.0), (0.1, 1e-3)])
@pytest.mark.parametrize(
    ("rows", "num_ids", "width"), [(64, 50, 64), (640, 600, 128), (192, 100, 64), (9000, 9000, 9000)]
)
def test_the_kernels_give_what_their_slow_twins_give(rows, num_ids, width, smoothing, z_loss, truncate):
    logits, labels = pieces(13, rows, num_ids, dtype=torch.float32)
    logits, labels = logits.to(DEVICE), labels.to(DEVICE)
    terms = Terms(num_ids, smoothing, z_loss, truncate)
    slow_sums, slow = summed(logits, labels, terms, width)
    fast_sums, fast = summed(logits, labels, terms, width, KERNELS)
    torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-6)
    for one, other in zip(*(vars_of(labels, sums, terms) for sums in (fast_sums, slow_sums)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-4)


def vars_of(labels, sums, terms):
    out = loss_output(labels, sums, terms)
    return out.objective, out.loss, out.truncated


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_half_precision_the_gradient_is_that_of_the_same_logits_rounded_once(dtype):
    logits, labels = pieces(13, 640, 600, dtype=dtype)
    logits, labels = logits.to(DEVICE), labels.to(DEVICE)
    terms = Terms(600, 0.1, 1e-3)
    _, exact = summed(logits.double(), labels, terms, 640)
    _, fast = summed(logits, labels, terms, 128, KERNELS)
    bound = 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(fast.double(), exact, rtol=bound, atol=1e-6)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_logit_that_is_no_number_shows_in_the_loss(bad):
    logits, labels = pieces(4, 64, 50, dtype=torch.float32)
    labels[:] = 3
    logits[1, 7] = bad
    sums, _ = summed(logits.to(DEVICE), labels.to(DEVICE), Terms(50, 0.1, 0.0), 64, KERNELS)
    assert not torch.isfinite(loss_output(labels.to(DEVICE), sums, Terms(50, 0.1, 0.0)).objective)


@pytest.mark.parametrize("chunk_bytes", [2**20, 20_000])
def test_the_whole_loss_is_the_same_by_kernels(chunk_bytes):
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(60, 16, generator=draw).to(DEVICE).requires_grad_()
    matrix = torch.randn(640, 16, generator=draw).to(DEVICE).requires_grad_()
    labels = torch.randint(0, 600, (60, 2), generator=draw).to(DEVICE)[:, 1]
    terms, found = Terms(600, 0.1, 1e-4), []
    for more in ({}, {"functions": KERNELS}):
        out = chunked_cross_entropy(hidden, matrix, labels, terms, chunk_bytes=chunk_bytes, **more)
        found.append([out.objective.detach(), *torch.autograd.grad(out.objective, (hidden, matrix))])
    for slow, fast in zip(*found, strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-3, atol=1e-4)
