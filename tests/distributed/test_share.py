import hashlib

from hypothesis import given
from hypothesis import strategies as st

from tests.images import image_batches
from trimtab.distributed.share import deal, dropout_seed

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
