from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.step import StepConfig
from trimtab.tasks.classification.batches import BatchShape, assemble, cut, least_padding, plan_shape
from trimtab.types import IGNORE, Batch, Ragged

SHAPE = BatchShape(num_batches=2, slots=64, examples=6, max_seqlen=16, fixed=False, sort=True)


def texts(lengths):
    return Ragged.of([[number + 5] * length for number, length in enumerate(lengths)])


@given(lengths=st.lists(st.integers(1, 16), min_size=1, max_size=40), fixed=st.booleans(), sort=st.booleans())
def test_each_example_is_in_one_batch_with_its_label(lengths, fixed, sort):
    shape, rows = replace(SHAPE, fixed=fixed, sort=sort), texts(lengths)
    batches = [*cut(rows, np.arange(len(rows)), shape, pad=0)]
    found = {}
    for batch in batches:
        assert batch.num_tokens <= shape.slots
        assert batch.num_segments <= shape.examples
        bounds = batch.text.cu_seqlens.tolist()
        for segment in range(batch.num_segments):
            found[int(batch.labels[segment])] = batch.text.ids[bounds[segment] : bounds[segment + 1]].tolist()
        assert (batch.labels[batch.num_segments :] == IGNORE).all()
    assert found == {number: row.tolist() for number, row in enumerate(map(rows.row, range(len(rows))))}
    assert sum(batch.num_targets for batch in batches) == len(lengths)
    assert sum(batch.num_tokens for batch in batches) == sum(lengths)


def test_batches_of_a_fixed_shape_share_one_key_and_no_segment_is_too_long():
    shape = replace(SHAPE, fixed=True)
    batches = [
        assemble(texts(lengths), np.zeros(len(lengths)), shape, pad=0)
        for lengths in ([1], [16] * 4, [3, 9, 2])
    ]
    assert len({batch.static_key for batch in batches}) == 1
    for batch in batches:
        assert batch.num_slots == shape.slots
        assert int(batch.text.cu_seqlens.diff().max()) <= shape.max_seqlen
        assert int(batch.text.cu_seqlens[-1]) == shape.slots


def test_positions_and_segments_follow_from_the_boundaries():
    batch = assemble(texts([2, 3]), np.array([1, 0]), SHAPE, pad=0)
    assert batch.text.positions.tolist() == [0, 1, 0, 1, 2]
    assert batch.text.segments.tolist() == [0, 0, 1, 1, 1]
    assert isinstance(batch, Batch)


def test_copies_are_equal_and_of_their_own_memory():
    batch = assemble(texts([2, 3]), np.array([1, 0]), SHAPE, pad=0)
    for copy in (batch.clone(), batch.to(torch.device("cpu"))):
        assert all(torch.equal(a, b) for a, b in zip(batch.tensors(), copy.tensors(), strict=True))
        assert copy.static_key == batch.static_key
    assert batch.clone().labels.data_ptr() != batch.labels.data_ptr()


@pytest.mark.parametrize("packed", [True, False])
def test_the_shape_holds_a_step_of_the_sample(packed):
    lengths = np.random.default_rng(1).integers(2, 30, 1000)
    step = StepConfig(tokens_per_step=256, tokens_per_micro_batch=100)
    shape = plan_shape(step, lengths, max_tokens=32, packed=packed)
    assert (shape.num_batches, shape.examples) == (3, 86)
    assert shape.slots >= 86 * lengths.mean()
    assert (shape.fixed, shape.sort) == (packed, not packed)
    again = plan_shape(
        step.model_copy(update={"source_tokens_per_micro_batch": shape.slots}),
        lengths,
        max_tokens=32,
        packed=packed,
    )
    assert again == shape


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=9).map(sorted),
    examples=st.integers(1, 6),
    pass_slots=st.integers(0, 9),
)
def test_rows_are_cut_where_it_costs_the_fewest_slots_and_batches(lengths, examples, pass_slots):
    shape = replace(SHAPE, examples=examples, slots=12, pass_slots=pass_slots)

    def cost(bounds):
        groups = [lengths[start:stop] for start, stop in pairwise([0, *bounds])]
        batches = sum(max(-(-len(group) // examples), -(-sum(group) // 12)) for group in groups)
        return sum(len(group) * group[-1] for group in groups) + batches * pass_slots

    changes = [number for number in range(1, len(lengths)) if lengths[number] > lengths[number - 1]]
    every = [
        [*chosen, len(lengths)] for size in range(len(changes) + 1) for chosen in combinations(changes, size)
    ]
    assert cost(least_padding(np.array(lengths), shape)) == min(map(cost, every))


def test_a_step_of_one_batch_becomes_several_where_rows_differ_in_length():
    lengths = np.random.default_rng(1).gamma(3.0, 8.0, 256).astype(int) + 2
    step = StepConfig(tokens_per_step=256, tokens_per_micro_batch=256)
    shares = []
    for pass_slots in (10**9, None):
        shape = plan_shape(step, lengths, max_tokens=128, packed=False)
        shape = shape if pass_slots is None else replace(shape, pass_slots=pass_slots)
        batches = [*cut(texts(lengths.tolist()), np.zeros(256), shape, pad=0)]
        shares.append(1 - lengths.sum() / sum(len(each.labels) * each.max_seqlen for each in batches))
    assert shares[0] > 0.5
    assert shares[1] < 0.08
