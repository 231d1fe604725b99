import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.images import ImageModel, image_batches
from trimtab.data.cut import cut
from trimtab.data.data_stream import DataStream
from trimtab.data.shape import plan_shape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.distributed import OneRank
from trimtab.distributed.share import deal, dropout_seed
from trimtab.step.accumulate import accumulate
from trimtab.types import Ragged

SIZES = st.lists(st.integers(0, 40), max_size=12)


@given(SIZES, st.integers(1, 5))
def test_each_micro_batch_is_dealt_once_and_evenly(sizes, world_size):
    batches = image_batches(*sizes) if sizes else []
    hands = deal(batches, world_size)
    assert len(hands) == world_size
    assert sorted(id(each) for hand in hands for each in hand) == sorted(map(id, batches))
    counts = [len(hand) for hand in hands]
    assert max(counts) - min(counts) <= 1
    tokens = [sum(each.num_tokens for each in hand) for hand in hands]
    assert max(tokens) - min(tokens) <= max(sizes, default=0)
    order = {id(each): number for number, each in enumerate(batches)}
    assert all(
        [order[id(each)] for each in hand] == sorted(order[id(each)] for each in hand) for hand in hands
    )


def test_one_rank_has_them_all_and_many_have_some_without():
    batches = image_batches(3, 1, 2)
    assert deal(batches, 1) == [batches]
    assert [[each.num_tokens for each in hand] for hand in deal(batches, 2)] == [[3], [1, 2]]
    assert [len(hand) for hand in deal(batches[:1], 3)] == [1, 0, 0]


def test_dropout_begins_anew_in_each_step_and_on_each_rank():
    seeds = {dropout_seed(1, step=step, rank=rank) for step in range(20) for rank in range(4)}
    assert len(seeds) == 80
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_first_rank_has_the_dropout_that_one_process_has_always_had():
    digest = hashlib.blake2b(b"7 dropout 3", digest_size=8).digest()
    assert dropout_seed(7, step=3) == dropout_seed(7, step=3, rank=0) == int.from_bytes(digest, "little") >> 1


def gradient(batches, world_size):
    """What so many ranks sum, each over its own micro-batches, divided by the targets of all."""
    targets = torch.tensor(float(sum(each.num_targets for each in batches)))
    model, total = ImageModel(), None
    for hand in deal(batches, world_size):
        model.zero_grad(set_to_none=True)
        accumulate(model, hand, targets=targets)
        mine = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in model.parameters()]
        )
        total = mine if total is None else total + mine
    return total


@pytest.mark.parametrize("world_size", [2, 3, 5])
@settings(max_examples=6)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_the_gradient_of_any_number_of_ranks_is_that_of_one(world_size, sizes):
    batches = image_batches(*sizes)
    whole = gradient(batches, 1)
    assert float((gradient(batches, world_size) - whole).norm()) <= 1e-6 * float(whole.norm())


def test_a_blank_micro_batch_keeps_step_with_the_others_and_changes_nothing():
    batches = image_batches(4, 3)
    stream = SimpleNamespace(ranks=OneRank(2, 3, False), same_number=True, in_order=False)
    (blank,) = DataStream.share_of(stream, batches)
    assert blank.static_key == batches[1].static_key
    model = ImageModel()
    out = accumulate(model, [blank], targets=torch.tensor(7.0))
    assert float(out.loss) == 0
    assert all(not p.grad.any() for p in model.parameters())
    stream.same_number = False
    assert DataStream.share_of(stream, batches) == []


def simulated_window(draw, tokens):
    """Pairs with lengths as of real text, of so many target tokens together."""
    lengths = np.clip(np.exp(draw.normal(3.2, 0.6, tokens // 20)), 2, 120).astype(np.int64)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), tokens)]
    sources = np.clip(lengths * draw.normal(1.0, 0.15, len(lengths)), 2, 120).astype(np.int64)
    source, target = (
        Ragged(np.ones(each.sum(), np.int32), np.concatenate([[0], np.cumsum(each)]))
        for each in (sources, lengths)
    )
    places = np.zeros(len(lengths), np.int64)
    return TextGlobalBatch(source, target, places, places, 0, ())


@pytest.mark.parametrize("fixed", [True, False])
def test_64_ranks_wait_for_less_than_3_percent_of_the_time(fixed):
    draw, tokens, world_size = np.random.default_rng(1), 64 * 4096, 64
    windows = [simulated_window(draw, tokens) for _ in range(3)]
    lengths = windows[0].source.lengths, windows[0].target.lengths
    shape = plan_shape(
        tokens_per_step=tokens,
        tokens_per_micro_batch=2048,
        lengths=lengths,
        max_tokens=120,
        ranks=world_size,
        fixed=fixed,
        sort=not fixed,
    )
    busy = longest = 0
    for window in windows:
        packs = cut(window, shape, start_symbol=1, pad_symbol=0)
        assert sum(pack.num_targets for pack in packs) == int(window.target.offsets[-1])
        loads = [sum(pack.num_tokens for pack in hand) for hand in deal(packs, world_size)]
        busy += sum(loads)
        longest += max(loads) * world_size
    assert 1 - busy / longest < 0.03


@given(st.lists(st.integers(1, 40), max_size=12, unique=True), st.integers(1, 5))
def test_in_order_each_rank_has_the_same_places_in_every_step(sizes, world_size):
    batches = image_batches(*sizes) if sizes else []
    hands = deal(batches, world_size, in_order=True)
    assert [[id(each) for each in hand] for hand in hands] == [
        [id(each) for each in batches[rank::world_size]] for rank in range(world_size)
    ]
