from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.rows import PAD, START, pairs_up_to, rows, segments_of, window_of
from tests.for_each import for_each
from trimtab.data.cut import Rows, common_full_rows, cut, pack_pairs
from trimtab.data.shape import PackShape, plan_shape
from trimtab.errors import InputError
from trimtab.types import IGNORE

LONGEST = 16


@st.composite
def shapes(draw):
    """Any shape into which examples up to LONGEST fit one by one, from generous to hardly enough."""
    fixed = draw(st.booleans())
    target_slots = draw(st.integers(LONGEST, 200))
    reserve = -(-target_slots // LONGEST)
    source_slots = draw(st.integers(LONGEST, 200)) + reserve
    tail = max(reserve, -(-source_slots // LONGEST))
    segments = draw(st.integers(1, 40)) + tail
    return PackShape(
        draw(st.integers(1, 6)),
        source_slots,
        target_slots,
        segments,
        LONGEST,
        LONGEST,
        fixed,
        draw(st.booleans()),
    )


def examples_of(packs):
    """All examples of packs as (source ids, labels), in order; checks the decoder's input on the way."""
    found = []
    for pack in packs:
        labels = pack.labels.tolist()
        bounds = pack.target.cu_seqlens.tolist()
        inputs = segments_of(pack.target, pack.num_segments)
        for number, source in enumerate(segments_of(pack.source, pack.num_segments)):
            target = labels[bounds[number] : bounds[number + 1]]
            assert inputs[number] == [START, *target[:-1]]
            found.append((source, target))
    return found


def examples_in(source, target):
    return [(source.row(i).tolist(), target.row(i).tolist()) for i in range(len(target))]


def check_budgets(packs, shape):
    for pack in packs:
        assert 0 < pack.num_segments <= shape.segment_capacity
        assert pack.num_targets <= shape.target_capacity
        assert pack.num_tokens - pack.num_targets <= shape.source_capacity


@pytest.mark.slow
@given(pairs_up_to(LONGEST), shapes())
def test_every_example_is_in_exactly_one_pack_whole_and_no_pack_is_over_its_budgets(pairs, shape):
    window = window_of(pairs)
    packs = cut(window, shape, start_symbol=START, pad_symbol=PAD)
    assert sorted(examples_of(packs)) == examples_in(window.source, window.target)
    check_budgets(packs, shape)
    assert sum(int((pack.labels != IGNORE).sum()) for pack in packs) == window.num_targets
    assert sum(pack.num_tokens for pack in packs) == window.num_tokens


@given(pairs_up_to(LONGEST), shapes())
def test_a_whole_set_is_packed_in_its_order_or_sorted_and_each_pack_takes_all_that_fits(pairs, shape):
    window = window_of(pairs)
    packs = list(pack_pairs(window.source, window.target, shape, start_symbol=START, pad_symbol=PAD))
    found, given = examples_of(packs), examples_in(window.source, window.target)
    assert found == (sorted(given, key=lambda pair: (len(pair[1]), len(pair[0]))) if shape.sort else given)
    check_budgets(packs, shape)
    first = 0
    for pack in packs[:-1]:
        first += pack.num_segments
        source, target = found[first]
        assert (
            pack.num_segments == shape.segment_capacity
            or pack.num_targets + len(target) > shape.target_capacity
            or pack.num_tokens - pack.num_targets + len(source) > shape.source_capacity
        )


def roomy(num_packs, *, sort=False, source_slots=2000):
    return PackShape(num_packs, source_slots, 2000, 2000, LONGEST, LONGEST, True, sort)


@given(pairs_up_to(LONGEST), st.integers(1, 6))
def test_a_window_that_fits_is_cut_at_the_ends_of_examples_nearest_to_even_shares(pairs, num_packs):
    window = window_of(pairs)
    packs = cut(window, roomy(num_packs), start_symbol=START, pad_symbol=PAD)
    assert examples_of(packs) == examples_in(window.source, window.target), "in order"
    assert len(packs) <= num_packs
    ends = np.cumsum([pack.num_targets for pack in packs])
    possible = window.target.offsets
    goals = window.num_targets * np.arange(1, num_packs) / num_packs
    for end in ends[:-1]:
        assert any(abs(end - goal) <= min(abs(possible - goal)) + 1e-9 for goal in goals)


def test_real_looking_windows_give_as_many_packs_as_planned_and_fill_them_to_nineteen_twentieths():
    draw = np.random.default_rng(0)
    target = np.minimum(1 + draw.geometric(1 / 18, 20_000), 256)
    source = np.clip((target * draw.normal(0.9, 0.2, len(target))).round().astype(np.int64), 1, 256)
    shape = plan_shape(
        tokens_per_step=32768,
        tokens_per_micro_batch=8192,
        lengths=(source[:8000], target[:8000]),
        max_tokens=256,
        fixed=True,
        sort=False,
    )
    fills = []
    for start in range(8000, 18_000, 1000):
        stop = start + int(np.searchsorted(np.cumsum(target[start:]), 32768))
        pairs = list(zip(source[start:stop].tolist(), target[start:stop].tolist(), strict=True))
        packs = cut(window_of(pairs), shape, start_symbol=START, pad_symbol=PAD)
        assert len(packs) == 4
        fills.append(sum(pack.num_targets for pack in packs) / (4 * shape.target_slots))
    assert np.mean(fills) > 0.93


def test_where_even_runs_do_not_fit_the_largest_are_placed_first_and_the_number_of_packs_kept():
    # All long sources come first, so the first of two even runs has far too many source tokens.
    pairs = [(16, 4)] * 40 + [(1, 4)] * 40
    shape = roomy(2, source_slots=16 * 20 + 60 + 125)
    packs = cut(window_of(pairs), shape, start_symbol=START, pad_symbol=PAD)
    assert [pack.num_targets for pack in packs] == [160, 160]
    assert [pack.num_tokens - pack.num_targets for pack in packs] == [340, 340]


def test_more_packs_are_opened_where_as_many_as_planned_cannot_hold_the_window():
    packs = cut(window_of([(16, 16)] * 100), roomy(1, source_slots=800), start_symbol=START, pad_symbol=PAD)
    assert len(packs) == 3
    assert sum(pack.num_segments for pack in packs) == 100


@pytest.mark.parametrize("source_slots", [2000, 500])
def test_a_sorted_window_gives_packs_of_like_lengths_even_where_it_does_not_fit_evenly(source_slots):
    draw = np.random.default_rng(1)
    window = window_of(draw.integers(1, LONGEST + 1, (120, 2)).tolist())
    packs = cut(window, roomy(4, sort=True, source_slots=source_slots), start_symbol=START, pad_symbol=PAD)
    lengths = [pack.target.cu_seqlens.diff()[: pack.num_segments].tolist() for pack in packs]
    assert [length for pack in lengths for length in pack] == sorted(window.target.lengths.tolist())


def test_the_cut_is_a_function_of_the_window():
    window = window_of(np.random.default_rng(2).integers(1, LONGEST + 1, (90, 2)).tolist())
    shape = roomy(3, source_slots=400)
    first, second = (cut(window, shape, start_symbol=START, pad_symbol=PAD) for _ in range(2))
    assert [pack.labels.tolist() for pack in first] == [pack.labels.tolist() for pack in second]


@pytest.mark.parametrize(("source", "target", "side"), [(3, 17, "target"), (17, 3, "source")])
def test_a_pair_that_is_too_long_for_a_set_s_packs_is_named(source, target, side):
    with pytest.raises(InputError, match=f"pair 2: its {side} is too long"):
        list(pack_pairs(rows([3, source]), rows([3, target]), roomy(1), start_symbol=START, pad_symbol=PAD))


def test_an_empty_set_has_no_packs():
    assert list(pack_pairs(rows([]), rows([]), roomy(1), start_symbol=START, pad_symbol=PAD)) == []


def full_shape(*, slots, segments=40, fixed=True, prefix=False):
    return PackShape(2, 0, slots, segments, 0, LONGEST, fixed, False, prefix)


@for_each(
    ("lengths", "full"),
    [
        ([LONGEST] * 8, 4),  # all of both packs
        ([3, LONGEST, LONGEST, 5, LONGEST, LONGEST, LONGEST, 2, LONGEST, 4], 3),
        ([3, LONGEST, 5, LONGEST, 2], 1),
        ([5] * 20, 0),
    ],
)
def test_full_documents_come_first_and_each_pack_of_a_window_says_as_many(lengths, full):
    window = window_of([(0, length) for length in lengths])
    packs = cut(window, full_shape(slots=4 * LONGEST), start_symbol=START, pad_symbol=PAD)
    assert {pack.target.full for pack in packs} == {full}
    for pack in packs:
        assert (pack.target.cu_seqlens[: full + 1] == LONGEST * np.arange(full + 1)).all()
        assert pack.static_key[-1] == full
        assert pack.clone().target.full == full
    assert sorted(examples_of(packs)) == sorted(examples_in(window.source, window.target))


@pytest.mark.parametrize(
    "shape",
    [
        full_shape(slots=64, fixed=False),
        full_shape(slots=64, prefix=True),
        replace(full_shape(slots=64), full_first=False),
    ],
)
def test_where_rows_are_not_taken_the_order_stays(shape):
    window = window_of([(0, length) for length in (3, LONGEST, 5, LONGEST)])
    packs = cut(window, shape, start_symbol=START, pad_symbol=PAD)
    assert [pack.target.full for pack in packs] == [0] * len(packs)
    assert examples_of(packs) == examples_in(window.source, window.target)


def test_few_different_numbers_of_full_documents_come_however_many_fit():
    for most in range(1, 70):
        shape = full_shape(slots=most * LONGEST + 3)
        found = {
            common_full_rows([Rows(rows([0] * count), rows([LONGEST] * count), np.zeros(count))], shape)
            for count in range(most + 1)
        }
        assert len(found) <= 5
        assert max(found) >= most * 3 / 4
