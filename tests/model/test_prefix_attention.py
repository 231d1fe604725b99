from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from tests.model.test_decoder_only import build, documents
from tests.streams import stream_of
from trimtab.model.prefix_attention import attend_prefix, prefix_layout_of
from trimtab.model.sequence_layout import sequence_layout


def with_prefix(stream, prefix):
    """The stream with so many given tokens at the beginning of each segment."""
    return replace(stream, prefix=torch.tensor(prefix, dtype=torch.int32))


def by_explicit_mask(queries, keys, values, lengths, prefixes):
    """One segment at a time, with a mask that is written out."""
    found = []
    parts = (each.split(lengths) for each in (queries, keys, values))
    for q, k, v, prefix in zip(*parts, prefixes, strict=True):
        places = torch.arange(len(q))
        seen = (places[:, None] >= places) | ((places[:, None] < prefix) & (places < prefix))
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        rows = (each.transpose(0, 1) for each in (q, k, v))
        found.append(F.scaled_dot_product_attention(*rows, attn_mask=seen).transpose(0, 1))
    return torch.cat(found)


@pytest.mark.slow
@given(
    segments=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), min_size=1, max_size=5),
    kv_heads=st.sampled_from([1, 2, 4]),
    slack=st.integers(0, 3),
)
def test_it_is_attention_under_the_explicit_mask_with_its_gradients(segments, kv_heads, slack):
    lengths, prefixes = (list(each) for each in zip(*segments, strict=True))
    lengths[0] = max(1, lengths[0])
    stream = stream_of([[1] * length for length in lengths], max_seqlen=max(lengths) + slack)
    stream = with_prefix(stream, prefixes)
    generator = torch.Generator().manual_seed(sum(lengths))
    parts = [
        torch.randn(sum(lengths), heads, 6, generator=generator, dtype=torch.float64, requires_grad=True)
        for heads in (4, kv_heads, kv_heads)
    ]
    layout, prefix = sequence_layout(stream, padded=True), prefix_layout_of(stream, padded=True)
    ours = attend_prefix(*parts, layout=layout, prefix=prefix)
    theirs = by_explicit_mask(*parts, lengths, prefixes)
    torch.testing.assert_close(ours, theirs)
    weight = torch.randn(ours.shape, generator=generator, dtype=torch.float64)
    gradients = [torch.autograd.grad((each * weight).sum(), parts) for each in (ours, theirs)]
    torch.testing.assert_close(*gradients)


@given(segments=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), min_size=1, max_size=5))
def test_the_layout_without_padding_has_the_same_halves_and_the_streams_sizes(segments):
    lengths, prefixes = (list(each) for each in zip(*segments, strict=True))
    lengths[0] = max(1, lengths[0])
    stream = with_prefix(stream_of([[1] * length for length in lengths]), prefixes)
    halves = prefix_layout_of(stream, padded=False).halves
    own = [min(one, other) for one, other in zip(lengths, prefixes, strict=True)]
    assert halves.cu_seqlens.dtype == torch.int32
    assert halves.cu_seqlens.diff().tolist() == [
        size for length, prefix in zip(lengths, own, strict=True) for size in (prefix, length - prefix)
    ]
    assert halves.cu_seqlens[-1] == stream.cu_seqlens[-1]
    assert halves.max_seqlen == stream.max_seqlen


@pytest.mark.parametrize("prefix", [0, 1])
def test_a_prefix_of_one_token_or_none_is_plain_causal_reading(prefix):
    causal, both = (build(prefix=how).eval() for how in ("causal", "bidirectional"))
    pack = documents([[20, 21, 22, 3], [30, 3]])
    given_some = moved(pack, [prefix, prefix])
    torch.testing.assert_close(both(given_some), causal(pack))
    assert torch.equal(both(pack), causal(pack))


def test_tokens_of_a_prefix_see_each_other_and_nothing_after_it():
    model = build(prefix="bidirectional").eval()
    first, later, given_later = (
        model(moved(documents([row]), [3]))
        for row in ([20, 21, 22, 23, 3], [20, 21, 22, 50, 3], [20, 50, 22, 23, 3])
    )
    assert torch.equal(first[:4], later[:4])
    assert not torch.allclose(first[4], later[4])
    # The input is the row moved by one: its second word is the third given token, which the first one sees.
    assert not torch.allclose(first[0], given_later[0])


def test_a_causal_model_does_not_look_at_prefixes():
    model, pack = build(), documents([[20, 21, 22, 3]])
    assert torch.equal(model(moved(pack, [3])), model(pack))


def moved(pack, prefix):
    return replace(pack, target=with_prefix(pack.target, prefix))
