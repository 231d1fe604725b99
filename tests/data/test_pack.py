import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.data.rows import PAD, START, pairs_up_to, segments_of, window_of
from trimtab.data.pack import assemble
from trimtab.data.shape import PackShape
from trimtab.types import IGNORE, Ragged, fill


def shape(*, fixed, source_slots=128, target_slots=128, max_segments=64, max_seqlen=16):
    return PackShape(2, source_slots, target_slots, max_segments, max_seqlen, max_seqlen, fixed, False)


@st.composite
def filled_shapes(draw):
    """A fixed shape and pairs that fit into it, from none at all to the last slot."""
    max_seqlen = draw(st.integers(1, 24))
    target_slots = draw(st.integers(max_seqlen, 150))
    source_slots = draw(st.integers(max_seqlen, 150)) + -(-target_slots // max_seqlen)
    limits = PackShape(1, source_slots, target_slots, 1000, max_seqlen, max_seqlen, True, False)
    pairs = draw(pairs_up_to(max_seqlen, most=60))
    while pairs and (
        sum(s for s, _ in pairs) > limits.source_capacity or sum(t for _, t in pairs) > limits.target_capacity
    ):
        pairs.pop()
    if pairs and draw(st.booleans()):
        source_left = limits.source_capacity - sum(s for s, _ in pairs)
        target_left = limits.target_capacity - sum(t for _, t in pairs)
        if 0 < source_left <= max_seqlen and 0 < target_left <= max_seqlen:
            pairs.append((source_left, target_left))
    most = len(pairs) + limits.tail_segments + draw(st.integers(0, 5))
    return PackShape(1, source_slots, target_slots, most, max_seqlen, max_seqlen, True, False), pairs


def packed(pairs, shape):
    window = window_of(pairs) if pairs else None
    source, target = (window.source, window.target) if window else (Ragged.of([]), Ragged.of([]))
    return assemble(source, target, shape, start_symbol=START, pad_symbol=PAD)


@pytest.mark.slow
@given(filled_shapes())
def test_a_fixed_pack_has_its_shape_and_a_tail_that_every_kernel_can_run(given):
    shape, pairs = given
    pack = packed(pairs, shape)
    assert len(pack.source.ids) == shape.source_slots
    assert len(pack.target.ids) == len(pack.labels) == shape.target_slots
    lengths = []
    for stream, max_seqlen in (
        (pack.source, shape.source_max_seqlen),
        (pack.target, shape.target_max_seqlen),
    ):
        assert len(stream.cu_seqlens) == shape.max_segments + 1
        assert (int(stream.cu_seqlens[0]), int(stream.cu_seqlens[-1])) == (0, len(stream.ids)), (
            "no slot is beyond"
        )
        lengths.append(stream.cu_seqlens.diff())
        assert 0 <= int(lengths[-1].min()) <= int(lengths[-1].max()) <= max_seqlen == stream.max_seqlen
        is_empty = (lengths[-1] == 0).tolist()
        assert is_empty == sorted(is_empty), "empty segments stand at the end only"
    assert not ((lengths[1] > 0) & (lengths[0] == 0)).any(), "a target would attend to nothing"
    assert pack.num_segments == len(pairs)


@given(filled_shapes(), st.booleans())
def test_positions_and_segments_say_where_each_slot_is_between_the_boundaries(given, fixed):
    shape, pairs = given
    assume(fixed or pairs)
    if not fixed:
        shape = PackShape(1, 150, 150, 150, shape.source_max_seqlen, shape.target_max_seqlen, False, False)
    pack = packed(pairs, shape)
    for stream in (pack.source, pack.target):
        bounds = stream.cu_seqlens.tolist()
        expected = [
            (i, slot - bounds[i]) for i in range(len(bounds) - 1) for slot in range(bounds[i], bounds[i + 1])
        ]
        assert list(zip(stream.segments.tolist(), stream.positions.tolist(), strict=True)) == expected


@pytest.mark.slow
@given(filled_shapes())
def test_the_decoder_sees_the_start_and_all_targets_but_the_last_and_must_say_all_of_them(given):
    shape, pairs = given
    pack = packed(pairs, shape)
    if pairs:
        window = window_of(pairs)
        count = len(pairs)
        targets = [window.target.row(i).tolist() for i in range(count)]
        assert segments_of(pack.source, count) == [window.source.row(i).tolist() for i in range(count)]
        assert segments_of(pack.target, count) == [[START, *row[:-1]] for row in targets]
        assert pack.labels[pack.labels != IGNORE].tolist() == window.target.values.tolist()
        assert pack.num_tokens == window.num_tokens
    assert int((pack.labels != IGNORE).sum()) == pack.num_targets
    assert (pack.labels[pack.num_targets :] == IGNORE).all()
    assert (pack.target.ids[pack.num_targets :] == PAD).all()
    assert (pack.source.ids[pack.num_tokens - pack.num_targets :] == PAD).all()


@given(pairs_up_to(16, most=8))
def test_a_pack_that_is_not_fixed_has_no_tail(pairs):
    pack = packed(pairs, shape(fixed=False))
    assert len(pack.source.ids) + len(pack.labels) == pack.num_tokens
    assert len(pack.source.cu_seqlens) == len(pairs) + 1
    assert (pack.source.max_seqlen, pack.target.max_seqlen) == (
        max(s for s, _ in pairs),
        max(t for _, t in pairs),
    )


def test_what_does_not_fit_is_refused():
    with pytest.raises(AssertionError, match="do not fit"):
        packed([(16, 16)] * 9, shape(fixed=True))


def test_fill_is_the_share_of_slots_that_hold_real_tokens():
    half = packed([(16, 16)] * 4, shape(fixed=True))
    assert fill([half]) == 0.5
    assert fill([half, packed([(16, 16)], shape(fixed=True))]) == 0.3125
    assert fill([packed([(3, 4)], shape(fixed=False))]) == 1.0


def test_boundaries_are_32_bit_as_kernels_want_them_and_ids_64_bit_as_embeddings_do():
    pack = packed([(3, 4)], shape(fixed=True))
    assert pack.source.cu_seqlens.dtype == pack.target.cu_seqlens.dtype == torch.int32
    assert pack.source.ids.dtype == pack.labels.dtype == torch.int64
