import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.watch.attention import (
    FEWEST_KEYS,
    attention_sinks,
    large_logits,
    look_at_attention,
    share_of_sinks,
)


def bounds(lengths):
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def slow_twin(queries, keys, of, to, *, causal):
    """The largest logit and each head's share, token by token."""
    group = queries.shape[1] // keys.shape[1]
    largest, rows = 0.0, []
    for row in range(len(of) - 1):
        q, k = queries[of[row] : of[row + 1]], keys[to[row] : to[row + 1]]
        shares = torch.zeros(queries.shape[1], len(k))
        judged = 0
        for i in range(len(q)):
            seen = k[: i + 1] if causal else k
            judged += len(seen) >= FEWEST_KEYS
            for head in range(queries.shape[1]):
                logits = seen[:, head // group] @ q[i, head] / math.sqrt(q.shape[-1])
                largest = max(largest, float(logits.abs().max()))
                if len(seen) >= FEWEST_KEYS:
                    shares[head, : len(seen)] += logits.softmax(0)
        if judged:
            rows.append((shares / judged).amax(1))
    return largest, torch.stack(rows).mean(0) if rows else torch.full((queries.shape[1],), math.nan)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([(2, 2), (4, 2), (3, 1)]),
)
def test_it_is_what_attention_is_token_by_token(lengths, causal, heads):
    pairs = [(n, n) for n, _ in lengths] if causal else lengths
    of, to = (bounds(each) for each in zip(*pairs, strict=True))
    queries, keys = torch.randn(int(of[-1]), heads[0], 6), torch.randn(int(to[-1]), heads[1], 6)
    found = look_at_attention(queries, keys, of=of, to=to, max_seqlen=(12, 12), causal=causal)
    largest, share = slow_twin(queries, keys, of, to, causal=causal)
    assert float(found.largest) == pytest.approx(largest, rel=1e-4)
    torch.testing.assert_close(found.share, share, equal_nan=True, atol=1e-5, rtol=1e-4)


def test_a_head_that_looks_at_one_place_has_all_of_its_attention_there():
    of = bounds([10, 12])
    keys = torch.zeros(22, 2, 4)
    keys[of[:-1].long(), 0] = 40.0
    found = look_at_attention(torch.ones(22, 2, 4), keys, of=of, to=of, max_seqlen=(12, 12), causal=False)
    assert found.share.tolist() == pytest.approx([1.0, (1 / 10 + 1 / 12) / 2], rel=1e-4)


@for_each(
    ("logit", "severity"),
    [(400.0, None), (1e3, None), (1.1e3, "warning"), (2e4, "error"), (math.inf, "error")],
)
def test_the_largest_logit_is_told_with_where_it_is(logit, severity):
    found = large_logits({"encoder.0": 7.0, "decoder.1": logit, "decoder.2": math.nan})
    assert (found.severity if found else None) == severity
    if found:
        assert (found.code, "in decoder.1" in found.message) == ("M905", True)


def test_where_no_logit_is_a_number_another_check_speaks():
    assert large_logits({"encoder.0": math.nan}) is None
    assert large_logits({}) is None


def test_sinks_are_told_where_almost_every_head_is_one():
    some = {"a": [0.99, 0.3, math.nan], "b": [0.95, 0.99]}
    assert attention_sinks(some, side="the encoder") is None
    assert share_of_sinks(some) == pytest.approx(0.75)
    found = attention_sinks({"a": [0.99] * 12, "b": [0.2, *[1.0] * 11]}, side="the encoder")
    assert found.code == "M906"
    assert "23 of the 24 heads of the encoder give more than 90%" in found.message


def test_rows_that_are_too_short_to_judge_are_no_sinks():
    assert attention_sinks({"a": [math.nan]}, side="the decoder") is None
    assert math.isnan(share_of_sinks({}))
