import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.streams import stream_of
from trimtab.model.attention_padded import attend_padded, pad_rows
from trimtab.model.sequence_layout import sequence_layout

lengths = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=5)


def naive(queries, keys, values, of, to, *, causal):
    """Attention written out, one segment and one head at a time."""
    out = torch.zeros_like(queries)
    for i in range(len(of.cu_seqlens) - 1):
        q = slice(int(of.cu_seqlens[i]), int(of.cu_seqlens[i + 1]))
        k = slice(int(to.cu_seqlens[i]), int(to.cu_seqlens[i + 1]))
        for head in range(queries.shape[1]):
            scores = queries[q, head] @ keys[k, head].T / queries.shape[2] ** 0.5
            if causal:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
            out[q, head] = scores.softmax(1) @ values[k, head]
    return out


@pytest.mark.slow
@given(lengths, st.booleans(), st.integers(0, 3))
def test_it_equals_attention_written_out_for_each_segment(pairs, causal, extra):
    torch.manual_seed(0)
    sources = [[1] * n for n, _ in pairs]
    targets = sources if causal else [[1] * n for _, n in pairs]
    max_seqlen = max(map(len, sources + targets)) + extra
    to = sequence_layout(stream_of(sources, max_seqlen=max_seqlen), padded=True)
    of = sequence_layout(stream_of(targets, max_seqlen=max_seqlen), padded=True)
    make = lambda rows: torch.randn(sum(map(len, rows)), 2, 4, dtype=torch.float64, requires_grad=True)  # noqa: E731
    q, k, v = make(targets), make(sources), make(sources)
    fast = attend_padded(q, k, v, of=of, to=to, causal=causal)
    slow = naive(q, k, v, of, to, causal=causal)
    torch.testing.assert_close(fast, slow)
    weight = torch.randn_like(fast)
    for a, b in zip(
        torch.autograd.grad((fast * weight).sum(), (q, k, v)),
        torch.autograd.grad((slow * weight).sum(), (q, k, v)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_padded_rows_hold_each_token_once_and_zeros_elsewhere():
    layout = sequence_layout(stream_of([[5, 6], [7]], max_seqlen=3), padded=True)
    x = torch.arange(1.0, 4.0)[:, None, None]
    assert pad_rows(x, layout).squeeze().tolist() == [[1, 2, 0], [3, 0, 0]]
