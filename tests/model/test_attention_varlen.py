import pytest
import torch

from tests.model.test_attention_padded import naive
from tests.streams import stream_of
from trimtab.model.attention import attend, attend_varlen
from trimtab.model.attention_padded import attend_padded
from trimtab.model.sequence_layout import sequence_layout

pytestmark = pytest.mark.gpu


def errors(kernel, queries, keys, values, of, to, weight, truth, *, causal):
    """How far values and gradients are from float64."""
    inputs = [x.detach().clone().requires_grad_() for x in (queries, keys, values)]
    out = kernel(*inputs, of=of, to=to, causal=causal)
    found = [out, *torch.autograd.grad((out * weight.to(out.dtype)).sum(), inputs)]
    return [(a.double() - b).norm() / b.norm() for a, b in zip(found, truth, strict=True)]


def check_errors(kernel, *, causal, max_seqlen=64, size=64):
    """Of a kernel for flat packs beside padded rows in the same precision."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, max_seqlen - 3, (40, 2), generator=generator).tolist()
    sources = [[1] * a for a, _ in lengths]
    targets = sources if causal else [[1] * b for _, b in lengths]
    cuda = torch.device("cuda")
    make = lambda rows: torch.randn(sum(map(len, rows)), 4, size, generator=generator).to(cuda)  # noqa: E731
    q, k, v = make(targets), make(sources), make(sources)
    weight = torch.randn(q.shape, generator=generator).to(cuda)
    dense = [
        sequence_layout(stream_of(rows, max_seqlen=max_seqlen).to(cuda), padded=True)
        for rows in (targets, sources)
    ]
    flat = [
        sequence_layout(stream_of(rows, max_seqlen=max_seqlen).to(cuda), padded=False)
        for rows in (targets, sources)
    ]
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    exact = naive(*wide, *dense, causal=causal)
    truth = [exact.detach(), *torch.autograd.grad((exact * weight.double()).sum(), wide)]
    half = [x.bfloat16() for x in (q, k, v)]
    fast = errors(kernel, *half, *flat, weight, truth, causal=causal)
    slow = errors(attend_padded, *half, *dense, weight, truth, causal=causal)
    assert all(a <= b + 1e-3 for a, b in zip(fast, slow, strict=True)), (fast, slow)


def check_empty_segments(kernel):
    """Segments without a token, many of them at the end, give finite gradients and change nothing."""
    cuda = torch.device("cuda")
    torch.manual_seed(0)
    x = torch.randn(3, 64, 4, 64, device=cuda, dtype=torch.bfloat16)
    cu_seqlens = torch.tensor([0, 10, 30, 64, 64, 64, 64], dtype=torch.int32, device=cuda)
    from trimtab.model.sequence_layout import SequenceLayout

    whole = SequenceLayout(cu_seqlens, 64, None, None)
    inputs = [part.clone().requires_grad_() for part in x]
    out = kernel(*inputs, of=whole, to=whole, causal=True)
    gradients = torch.autograd.grad(out.float().square().sum(), inputs)
    assert all(g.isfinite().all() for g in gradients)
    first = SequenceLayout(cu_seqlens[:2], 64, None, None)
    alone = kernel(*(part[:10] for part in x), of=first, to=first, causal=True)
    torch.testing.assert_close(out[:10], alone)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kept", [1, 2])
@pytest.mark.parametrize("max_seqlen", [64, 700])
def test_grouped_heads_in_packs_err_no_more_than_in_padded_rows(max_seqlen, kept, causal):
    generator = torch.Generator().manual_seed(0)
    rows = [[1] * n for n in torch.randint(1, max_seqlen - 3, (40,), generator=generator).tolist()]
    cuda, tokens = torch.device("cuda"), sum(map(len, rows))
    q = torch.randn(tokens, 4, 64, generator=generator).to(cuda)
    k, v = (torch.randn(tokens, kept, 64, generator=generator).to(cuda) for _ in range(2))
    weight = torch.randn(q.shape, generator=generator).to(cuda)
    dense = sequence_layout(stream_of(rows, max_seqlen=max_seqlen).to(cuda), padded=True)
    flat = sequence_layout(stream_of(rows, max_seqlen=max_seqlen).to(cuda), padded=False)
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    repeated = [x.repeat_interleave(4 // kept, dim=1) for x in wide[1:]]
    exact = naive(wide[0], *repeated, dense, dense, causal=causal)
    truth = [exact.detach(), *torch.autograd.grad((exact * weight.double()).sum(), wide)]
    half = [x.bfloat16() for x in (q, k, v)]
    fast = errors(attend, *half, flat, flat, weight, truth, causal=causal)
    slow = errors(attend, *half, dense, dense, weight, truth, causal=causal)
    assert all(a <= b + 1e-3 for a, b in zip(fast, slow, strict=True)), (fast, slow)


@pytest.mark.parametrize("causal", [False, True])
def test_it_errs_no_more_than_padded_rows_in_the_same_precision(causal):
    check_errors(attend_varlen, causal=causal)


def test_empty_segments_and_a_filled_tail_give_finite_gradients_and_change_nothing():
    check_empty_segments(attend_varlen)
