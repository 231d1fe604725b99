"""One operator out of a pair of kernels, here ones of plain arithmetic in place of a library's."""

import pytest
import torch

from tests.model.test_attention_padded import naive
from tests.streams import stream_of
from trimtab.model.fused_attention import fused_attention
from trimtab.model.sequence_layout import sequence_layout


def pieces(of, to):
    return [(slice(*of[i : i + 2].tolist()), slice(*to[i : i + 2].tolist())) for i in range(len(of) - 1)]


def weights(q, k, causal):
    scores = torch.einsum("qhd,khd->hqk", q, k) / q.shape[2] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[1:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1), scores.logsumexp(-1).T


def forward(q, k, v, of, to, max_seqlen, longest_key, causal):
    out, sums = torch.zeros_like(q), q.new_zeros(q.shape[:2])
    for a, b in pieces(of, to):
        shares, sums[a] = weights(q[a], k[b], causal)
        out[a] = torch.einsum("hqk,khd->qhd", shares, v[b])
    return out, sums.view(-1)


def backward(d, q, k, v, out, sums, of, to, max_seqlen, longest_key, causal):
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    for a, b in pieces(of, to):
        shares, again = weights(q[a], k[b], causal)
        torch.testing.assert_close(again, sums.view(q.shape[:2])[a])  # what was kept is what is given back
        dv[b] = torch.einsum("hqk,qhd->khd", shares, d[a])
        own = (d[a] * out[a]).sum(-1).T[..., None]
        ds = shares * (torch.einsum("qhd,khd->hqk", d[a], v[b]) - own) / q.shape[2] ** 0.5
        dq[a] = torch.einsum("hqk,khd->qhd", ds, k[b])
        dk[b] = torch.einsum("hqk,qhd->khd", ds, q[a])
    return dq, dk, dv


attend = fused_attention("attend_plainly", forward, backward, device="cpu")


def results(kernel, inputs, weight, *, of, to, causal):
    def scaled(q, k, v):
        return (kernel(2 * q, k, v, of=of, to=to, causal=causal) * weight).sum()

    value = scaled(*inputs)
    return [value.detach(), *torch.autograd.grad(value, inputs)], scaled


def check(lengths, key_lengths, *, causal):
    generator = torch.Generator().manual_seed(0)
    make = lambda n: torch.randn(sum(n), 2, 8, generator=generator, dtype=torch.float64).requires_grad_()  # noqa: E731
    inputs = [make(lengths), make(key_lengths), make(key_lengths)]
    weight = torch.randn(inputs[0].shape, generator=generator, dtype=torch.float64)
    rows = [[[1] * n for n in each] for each in (lengths, key_lengths)]
    flat = [sequence_layout(stream_of(each, max_seqlen=16), padded=False) for each in rows]
    dense = [sequence_layout(stream_of(each, max_seqlen=16), padded=True) for each in rows]
    ours, scaled = results(attend, inputs, weight, of=flat[0], to=flat[1], causal=causal)
    naively = lambda q, k, v, *, of, to, causal: naive(q, k, v, of, to, causal=causal)  # noqa: E731
    truth, _ = results(naively, inputs, weight, of=dense[0], to=dense[1], causal=causal)
    compiled = torch.compile(scaled, fullgraph=True, backend="aot_eager")
    for a, b in zip(ours, truth, strict=True):
        torch.testing.assert_close(a, b)
    for a, b in zip(torch.autograd.grad(compiled(*inputs), inputs), truth[1:], strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.slow
def test_a_causal_one_has_the_values_and_gradients_of_the_formula_compiled_or_not():
    check([3, 7, 1], [3, 7, 1], causal=True)


def test_so_has_one_from_another_stream():
    check([3, 7, 1], [5, 2, 9], causal=False)
