import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.shape import plan_shape, with_capacity_for, without_slack
from trimtab.errors import InputError


def sample(count=5000, *, mean_source=18, mean_target=20, seed=0):
    draw = np.random.default_rng(seed)
    target = 1 + draw.poisson(mean_target - 1, count)
    return 1 + draw.poisson((mean_source - 1) * target / mean_target), target


def shape_of(**changes):
    given = {
        "tokens_per_step": 32768,
        "tokens_per_micro_batch": 8192,
        "lengths": sample(),
        "max_tokens": 256,
        "fixed": True,
        "sort": False,
    }
    return plan_shape(**(given | changes))


def test_a_step_of_four_micro_batches_has_four_packs_with_a_twentieth_of_slack():
    shape = shape_of()
    assert shape.num_packs == 4
    assert shape.target_slots == 8640
    assert shape.source_max_seqlen == shape.target_max_seqlen == 256
    assert 1.05 * 8192 * 0.88 < shape.source_slots < 1.1 * 8192 * 0.92


@given(
    step=st.integers(64, 100_000),
    parts=st.floats(0.05, 1.0),
    max_tokens=st.integers(2, 300),
    ranks=st.integers(1, 8),
    fixed=st.booleans(),
    sort=st.booleans(),
)
def test_every_shape_has_room_for_its_share_and_for_any_single_example(
    step, parts, max_tokens, ranks, fixed, sort
):
    micro = max(max_tokens, int(step * parts))
    shape = shape_of(
        tokens_per_step=step,
        tokens_per_micro_batch=micro,
        max_tokens=max_tokens,
        ranks=ranks,
        fixed=fixed,
        sort=sort,
    )
    assert shape.num_packs % ranks == 0
    assert shape.num_packs * micro >= step
    assert shape.num_packs * shape.target_capacity >= 1.05 * step
    assert shape.source_slots % 64 == shape.target_slots % 64 == 0
    assert shape.source_max_seqlen % 8 == 0
    assert (
        min(shape.source_capacity, shape.target_capacity, shape.source_max_seqlen, shape.target_max_seqlen)
        >= max_tokens
    )
    assert shape.segment_capacity >= 1


@pytest.mark.parametrize(("ranks", "num_packs"), [(1, 5), (2, 6), (4, 8)])
def test_packs_are_a_multiple_of_the_ranks(ranks, num_packs):
    assert shape_of(tokens_per_step=40_000, ranks=ranks).num_packs == num_packs


@pytest.mark.parametrize("sort", [False, True])
def test_four_standard_errors_hold_in_nearly_every_pack_of_fresh_data(sort):
    shape = shape_of(sort=sort, tokens_per_step=8192, tokens_per_micro_batch=2048)
    misses = 0
    for seed in range(50):
        source, target = sample(8192 // 21, seed=100 + seed)
        order = np.lexsort((source, target)) if sort else np.arange(len(target))
        ends = np.cumsum(target[order])
        for piece in np.split(order, np.searchsorted(ends, ends[-1] * np.arange(1, 4) / 4)):
            misses += source[piece].sum() > shape.source_capacity or len(piece) > shape.segment_capacity
    assert misses <= 2


def test_a_smaller_sample_is_trusted_less():
    assert shape_of(lengths=sample(200)).source_slots > shape_of(lengths=sample(20_000)).source_slots


def test_rooms_of_a_fixed_shape_leave_place_for_its_tail_and_those_of_another_are_all_of_it():
    fixed, loose = shape_of(), shape_of(fixed=False)
    tail = -(-fixed.target_slots // fixed.target_max_seqlen)
    assert fixed.source_slots - fixed.source_capacity == tail
    assert fixed.max_segments - fixed.segment_capacity >= tail
    assert (loose.source_capacity, loose.segment_capacity) == (loose.source_slots, loose.max_segments)


def test_an_example_that_might_not_fit_into_a_micro_batch_is_an_error_that_says_how_large_it_must_be():
    with pytest.raises(InputError, match="tokens_per_micro_batch") as caught:
        shape_of(tokens_per_micro_batch=255)
    assert "at least 256" in str(caught.value)


def test_a_sample_without_examples_is_an_error():
    nothing = np.empty(0, np.int64)
    with pytest.raises(InputError, match="no example is left"):
        shape_of(lengths=(nothing, nothing))


def test_one_pack_of_targets_that_all_count_has_the_slots_of_a_step_and_no_more():
    one = shape_of(tokens_per_step=8192)
    exact = without_slack(one, tokens_per_step=8192)
    assert exact.target_slots == 8192 < one.target_slots
    assert exact.segment_capacity >= one.segment_capacity
    assert exact.source_capacity >= one.source_capacity
    several, padded = shape_of(), shape_of(tokens_per_step=8192, fixed=False, sort=True)
    assert without_slack(several, tokens_per_step=32768) == several
    assert without_slack(padded, tokens_per_step=8192) == padded
    small = shape_of(tokens_per_step=100, tokens_per_micro_batch=256)
    assert without_slack(small, tokens_per_step=100).target_slots == 256  # the longest example still fits


def test_packs_have_room_for_each_kind_of_examples():
    short, long = sample(mean_source=40, mean_target=8), sample(mean_source=10, mean_target=30)
    kinds = [(*short, 2000.0), (*long, 2000.0)]
    shape = with_capacity_for(shape_of(), kinds, target_slots=2100)
    assert shape.target_slots == 2112
    assert shape.source_capacity >= 2000 * 40 / 8
    assert shape.segment_capacity >= 2000 / 8
    less = with_capacity_for(shape_of(), kinds[1:], target_slots=2100)
    assert less.source_slots < shape.source_slots
    assert less.segment_capacity < shape.segment_capacity
