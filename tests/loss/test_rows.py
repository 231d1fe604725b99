import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from trimtab.loss.rows import PLAIN, kept, log_partition, loss_output, no_sums
from trimtab.loss.terms import Terms
from trimtab.types import IGNORE


def pieces(tokens, rows, num_ids, *, seed=0, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(tokens, rows, generator=draw, dtype=torch.float64)
    labels = torch.randint(0, num_ids, (tokens,), generator=draw)
    labels[torch.rand(tokens, generator=draw) < 0.2] = IGNORE
    return logits.to(dtype), labels


def summed(logits, labels, terms, width, functions=PLAIN):
    """The sums over pieces of some columns each, and the gradient in place of each piece."""
    sums = no_sums(len(logits), like=logits)
    parts = list(logits.clone().split(width, dim=1))
    parts = [part.clone() for part in parts]
    for number, part in enumerate(parts):
        functions.add_to_sums(part, labels, sums, first_row=number * width, terms=terms)
    for number, part in enumerate(parts):
        functions.to_gradient(part, labels, sums, first_row=number * width, terms=terms)
    return sums, torch.cat(parts, dim=1)


@pytest.mark.slow
@given(
    tokens=st.integers(1, 9),
    num_ids=st.integers(1, 60),
    padding=st.integers(0, 9),
    width=st.integers(1, 70),
    smoothing=st.sampled_from([0.0, 0.1]),
    z_loss=st.sampled_from([0.0, 1e-2]),
    truncate=st.sampled_from([math.inf, 1.2, 0.5]),
)
def test_however_a_row_is_cut_sums_and_gradient_are_those_of_autograd(
    tokens, num_ids, padding, width, smoothing, z_loss, truncate
):
    logits, labels = pieces(tokens, num_ids + padding, num_ids)
    terms = Terms(num_ids, smoothing, z_loss, truncate)
    sums, gradient = summed(logits, labels, terms, width)
    exact = logits.clone().requires_grad_()
    part = exact[:, :num_ids]
    torch.testing.assert_close(log_partition(sums), part.logsumexp(1).detach())
    p = part.softmax(1).detach()
    norms = (p - F.one_hot(labels.clamp(min=0), num_ids)).norm(dim=1)
    counts = labels != IGNORE
    assert kept(labels, sums, terms).equal(counts & (norms <= truncate))
    plain = F.cross_entropy(part, labels, ignore_index=IGNORE, reduction="none")
    smooth = F.cross_entropy(part, labels, ignore_index=IGNORE, reduction="none", label_smoothing=smoothing)
    objective = ((smooth + z_loss * part.logsumexp(1) ** 2) * (counts & (norms <= truncate))).sum()
    objective.backward()
    out = loss_output(labels, sums, terms)
    torch.testing.assert_close(out.objective, objective.detach())
    torch.testing.assert_close(out.loss, plain.sum().detach())
    assert out.truncated == (counts & (norms > truncate)).sum()
    torch.testing.assert_close(gradient, exact.grad)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_logit_that_is_no_number_shows_in_the_loss(bad):
    logits, labels = pieces(4, 20, 20)
    labels[:] = 3
    logits[1, 7] = bad
    terms = Terms(20, 0.1, 0.0)
    assert not torch.isfinite(loss_output(labels, summed(logits, labels, terms, 8)[0], terms).objective)


def test_tokens_that_do_not_count_have_no_gradient_even_where_their_logits_are_large():
    logits, labels = pieces(4, 20, 20, dtype=torch.float32)
    labels[:] = IGNORE
    _, gradient = summed(1000 * logits, labels, Terms(20, 0.1, 1e-3), 8)
    assert gradient.abs().max() == 0
