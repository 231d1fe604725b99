import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab import logit_tiles
from trimtab.loss import plain
from trimtab.loss.chunked import Inputs, check_labels, chunked_cross_entropy
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.rows import PLAIN, RowFunctions
from trimtab.loss.terms import Terms
from trimtab.types import IGNORE


def make(tokens, rows, num_ids, dtype, seed=0, ignored=0.2):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(tokens, 8, dtype=torch.float64, generator=generator).to(dtype).requires_grad_()
    matrix = torch.randn(rows, 8, dtype=torch.float64, generator=generator).to(dtype).requires_grad_()
    labels = torch.randint(0, num_ids, (tokens,), generator=generator)
    labels[torch.rand(tokens, generator=generator) < ignored] = IGNORE
    return hidden, matrix, labels


@given(
    tokens=st.integers(0, 30),
    num_ids=st.integers(2, 70),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    z_loss=st.sampled_from([0.0, 1e-2]),
    chunk=st.integers(1, 40),
    scale=st.sampled_from([1.0, 0.125]),
    truncate=st.sampled_from([math.inf, 1.2, 1.0, 0.1]),
    cap=st.sampled_from([math.inf, 30.0, 0.8]),
    ignored=st.sampled_from([0.2, 0.8]),
)
def test_it_equals_the_plain_loss_in_values_and_gradients(
    tokens, num_ids, smoothing, z_loss, chunk, scale, truncate, cap, ignored
):
    rows = -(-num_ids // 64) * 64
    hidden, matrix, labels = make(tokens, rows, num_ids, torch.float64, ignored=ignored)
    terms = Terms(num_ids, smoothing, z_loss, truncate, cap)
    slow = plain_cross_entropy(hidden, matrix, labels, terms)
    fast = chunked_cross_entropy(hidden, matrix, labels, terms, chunk_bytes=chunk * rows * 4)
    torch.testing.assert_close(fast.objective, slow.objective)
    torch.testing.assert_close(fast.loss, slow.loss)
    assert fast.truncated == slow.truncated
    for a, b in zip(
        torch.autograd.grad(fast.objective * scale, (hidden, matrix)),
        torch.autograd.grad(slow.objective * scale, (hidden, matrix)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("smoothing", "cap"), [(0.0, math.inf), (0.1, math.inf), (0.0, 3.0)])
def test_in_bf16_it_errs_no_more_than_the_plain_loss_does(smoothing, cap):
    hidden, matrix, labels = make(512, 640, 600, torch.float32)
    terms = Terms(600, smoothing, 1e-4, logit_cap=cap)

    def run(loss, dtype, autocast, **more):
        inputs = [x.detach().to(dtype).requires_grad_() for x in (hidden, matrix)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            out = loss(*inputs, labels, terms, **more)
        out.objective.backward()
        return [out.objective.double(), *(x.grad.double() for x in inputs)]

    truth = run(plain_cross_entropy, torch.float64, False)
    naive = run(plain_cross_entropy, torch.float32, True)
    fast = run(chunked_cross_entropy, torch.float32, True, chunk_bytes=100 * 640 * 4)
    for exact, obvious, ours in zip(truth, naive, fast, strict=True):
        slack = 1e-3 * exact.abs().max()
        assert (ours - exact).norm() <= (obvious - exact).norm() + slack


def test_rows_beyond_the_vocabulary_get_no_gradient_and_no_probability():
    hidden, matrix, labels = make(10, 64, 50, torch.float32)
    out = chunked_cross_entropy(hidden, matrix, labels, Terms(50, 0.1, 0.1), chunk_bytes=4096)
    out.objective.backward()
    assert matrix.grad[50:].abs().max() == 0
    with torch.no_grad():
        matrix[50:] += 100
    again = chunked_cross_entropy(hidden, matrix, labels, Terms(50, 0.1, 0.1), chunk_bytes=4096)
    torch.testing.assert_close(again.objective, out.objective)


def test_a_pack_without_targets_costs_nothing():
    hidden, matrix, _ = make(4, 64, 50, torch.float32)
    labels = torch.full((4,), IGNORE)
    out = chunked_cross_entropy(hidden, matrix, labels, Terms(50, 0.1, 0.0), chunk_bytes=512)
    out.objective.backward()
    assert out.objective == 0
    assert out.loss == 0
    assert hidden.grad.abs().max() == 0
    assert matrix.grad.abs().max() == 0


def watched(seen):
    """Row functions that note how large the pieces of the logits are."""

    def noting(function):
        def noted(logits, *rest, **more):
            seen.append(tuple(logits.shape))
            return function(logits, *rest, **more)

        return noted

    return RowFunctions(*map(noting, PLAIN))


def test_no_buffer_is_larger_than_the_chunk(monkeypatch):
    monkeypatch.setitem(logit_tiles.WHOLE_TOKENS, "cpu", 8)
    seen = []
    hidden, matrix, labels = make(100, 128, 100, torch.float32)
    chunked_cross_entropy(
        hidden, matrix, labels, Terms(100, 0.1, 0.0), chunk_bytes=5000, functions=watched(seen)
    )
    assert {rows for _, rows in seen} == {128}
    assert max(tokens for tokens, _ in seen) * 128 * 4 <= 5000
    assert sum(tokens for tokens, _ in seen) == 2 * 100


def test_a_vocabulary_of_which_few_rows_fit_is_cut_too():
    seen = []
    hidden, matrix, labels = make(100, 1280, 1200, torch.float32)
    terms = Terms(1200, 0.1, 1e-3)
    out = chunked_cross_entropy(hidden, matrix, labels, terms, chunk_bytes=40_000, functions=watched(seen))
    assert max(tokens * rows for tokens, rows in seen) * 4 <= 40_000
    assert min(rows for _, rows in seen) < 1280
    slow = plain_cross_entropy(hidden, matrix, labels, terms)
    torch.testing.assert_close(out.objective, slow.objective)


def test_prompts_cost_no_logits():
    """On a CPU, where most labels do not count."""
    seen = []
    hidden, matrix, labels = make(100, 128, 100, torch.float32, ignored=0.8)
    chunked_cross_entropy(
        hidden, matrix, labels, Terms(100, 0.0, 0.0), chunk_bytes=10**6, functions=watched(seen)
    )
    assert {tokens for tokens, _ in seen} == {int((labels != IGNORE).sum())}


def test_without_gradients_none_is_made():
    seen = []
    hidden, matrix, labels = make(100, 64, 60, torch.float32)
    terms = Terms(60, 0.1, 0.0)
    slow = plain_cross_entropy(hidden, matrix, labels, terms)
    with torch.no_grad():
        out = chunked_cross_entropy(hidden, matrix, labels, terms, functions=watched(seen))
    assert seen == [(100, 64)]
    torch.testing.assert_close((out.objective, out.loss), (slow.objective.detach(), slow.loss))


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("rows", [64, 1280])
def test_a_retained_graph_gives_the_same_gradients_again(autocast, rows):
    hidden, matrix, labels = make(100, rows, rows - 4, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        out = chunked_cross_entropy(hidden, matrix, labels, Terms(rows - 4, 0.1, 1e-3), chunk_bytes=40_000)
    first = torch.autograd.grad(out.objective * 0.25, (hidden, matrix), retain_graph=True)
    first = [each.clone() for each in first]
    second = torch.autograd.grad(out.objective * 0.5, (hidden, matrix))
    for one, other in zip(first, second, strict=True):
        assert (2 * one).equal(other)


@pytest.mark.parametrize("chunk_bytes", [2**20, 20_000])
@pytest.mark.parametrize("trained", ["both", "matrix"])
def test_a_matrix_that_is_used_elsewhere_too_gets_the_sum_of_its_gradients(chunk_bytes, trained):
    _, matrix, labels = make(60, 640, 600, torch.float64)
    ids = labels.clamp(min=0).roll(1)
    seen, terms, found = [], Terms(600, 0.1, 1e-3), []
    for loss, more in ((plain_cross_entropy, {}), (chunked_cross_entropy, {"chunk_bytes": chunk_bytes})):
        tied = matrix.detach().clone().requires_grad_()
        tied.register_hook(lambda gradient: seen.append(gradient.clone()))
        for scale in (0.25, 3.0):  # two micro-batches, whose gradients are added up
            hidden = tied[ids] if trained == "both" else tied[ids].detach()
            (loss(hidden, tied, labels, terms, **more).objective * scale).backward()
        found.append(tied.grad)
    torch.testing.assert_close(*found)
    for slow, fast in zip(seen[:2], seen[2:], strict=True):
        torch.testing.assert_close(fast, slow)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [256, 2560])
def test_with_weights_in_bf16_it_errs_no_more_than_the_plain_loss_does(rows):
    hidden, matrix, labels = make(1500, rows, rows - 6, torch.bfloat16)
    terms, found = Terms(rows - 6, 0.1, 0.0), []
    for loss, wide in (
        (plain_cross_entropy, True),
        (plain_cross_entropy, False),
        (chunked_cross_entropy, False),
    ):
        given = [x.detach().double() if wide else x.detach() for x in (hidden, matrix)]
        given = [x.requires_grad_() for x in given]
        more = {"chunk_bytes": 60_000} if loss is chunked_cross_entropy else {}
        (loss(*given, labels, terms, **more).objective / 1237).backward()
        found.append([x.grad.double() for x in given])
    for exact, obvious, ours in zip(*found, strict=True):
        assert (ours - exact).norm() <= 1.2 * (obvious - exact).norm()


@for_each("wrong", [60, -1, -99, 10**12])
def test_a_label_that_stands_for_nothing_is_refused(wrong):
    hidden, matrix, labels = make(30, 64, 60, torch.float32)
    labels[7] = wrong
    with pytest.raises(IndexError, match=f"label {wrong}; allowed is 0 to 59, or {IGNORE}"):
        chunked_cross_entropy(hidden, matrix, labels, Terms(60))


@for_each("count", [0, 1, 29, 31])
def test_there_is_one_label_for_each_vector(count):
    hidden, matrix, _ = make(30, 64, 60, torch.float32)
    with pytest.raises(ValueError, match=f"{count} labels for 30 hidden vectors"):
        check_labels(Inputs(hidden, matrix, torch.zeros(count, dtype=torch.int64)), Terms(60))


def test_there_is_a_row_for_each_id():
    hidden, matrix, labels = make(30, 64, 60, torch.float32)
    with pytest.raises(ValueError, match="65 ids for 64 rows"):
        chunked_cross_entropy(hidden, matrix, labels, Terms(65))


def test_a_second_derivative_is_refused_and_not_left_out():
    hidden, matrix, labels = make(30, 64, 60, torch.float64)
    out = chunked_cross_entropy(hidden, matrix, labels, Terms(60))
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(out.objective, hidden, create_graph=True)


@pytest.mark.quick("64")
@pytest.mark.parametrize("rows", [64, 128])
def test_the_gradients_are_those_of_finite_differences(rows):
    hidden, matrix, labels = make(7, rows, rows - 4, torch.float64)
    terms = Terms(rows - 4, 0.1, 1e-2)
    assert torch.autograd.gradcheck(
        lambda *given: chunked_cross_entropy(*given, labels, terms, chunk_bytes=4000).objective,
        (hidden, matrix),
    )


def test_a_vector_that_does_not_count_may_be_no_number():
    hidden, matrix, labels = make(30, 64, 60, torch.float32)
    terms = Terms(60, 0.1, 1e-3)
    good = chunked_cross_entropy(hidden, matrix, labels, terms).objective
    with torch.no_grad():
        hidden[labels == IGNORE] = math.nan
    assert chunked_cross_entropy(hidden, matrix, labels, terms).objective == good


def test_labels_may_be_a_column_of_a_wider_tensor():
    hidden, matrix, labels = make(30, 64, 60, torch.float32)
    both = torch.stack([labels.roll(1), labels], dim=1)
    terms = Terms(60, 0.1, 0.0)
    one, other = (chunked_cross_entropy(hidden, matrix, each, terms) for each in (labels, both[:, 1]))
    assert one.objective == other.objective


def test_a_truncated_label_has_no_gradient_and_the_others_keep_theirs():
    hidden, matrix, labels = make(40, 64, 60, torch.float64)
    terms = Terms(60, 0.1, 1e-3)
    norms = plain.error_norm((hidden @ matrix.T)[:, :60].detach(), labels)
    some = norms[labels != IGNORE].median()

    def gradient(terms):
        out = chunked_cross_entropy(hidden, matrix, labels, terms, chunk_bytes=4096)
        return out, torch.autograd.grad(out.objective, hidden)[0]

    whole, all_of_them = gradient(terms)
    cut, rest = gradient(terms._replace(truncate_above=float(some)))
    gone = (norms > some) & (labels != IGNORE)
    assert cut.truncated == gone.sum() > 5
    assert rest[gone].abs().max() == 0
    torch.testing.assert_close(rest[~gone], all_of_them[~gone])
    torch.testing.assert_close(cut.loss, whole.loss)


@pytest.mark.parametrize("chunk_bytes", [2**6, 2**20])
def test_a_frozen_matrix_costs_no_gradient_and_changes_no_other(chunk_bytes):
    hidden, matrix, labels = make(20, 64, 60, torch.float64)
    whole = chunked_cross_entropy(hidden, matrix, labels, Terms(60), chunk_bytes=chunk_bytes).objective
    frozen = chunked_cross_entropy(
        hidden, matrix.detach(), labels, Terms(60), chunk_bytes=chunk_bytes
    ).objective
    assert torch.equal(*(torch.autograd.grad(each, hidden)[0] for each in (whole, frozen)))
