import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.order import random_stream
from trimtab.data.transforms.denoise import Noise, deleted, infilled, masked, shuffled

MASK = 4
# Of the ids from 10 on, the even ones begin a word.
BEGINS = np.array([id % 2 == 0 for id in range(100)])
rows = st.lists(st.integers(10, 99), max_size=30)
seeds = st.integers(0, 2**32)


def noise(**changes):
    off = {"shuffle": 0, "delete": 0.0, "mask": 0.0, "infill": 0.0, "mean_span": 3.0}
    return Noise(**off | changes, mask_id=MASK, begins_word=BEGINS)


def numbered(count):
    """Words of one id each that say where they stood."""
    return [[10 + place] for place in range(count)]


def is_within_binomial(seen, trials, share):
    return abs(seen - trials * share) <= 5 * math.sqrt(trials * share * (1 - share)) + 1


@given(ids=rows)
def test_a_word_begins_where_its_first_piece_says_so_and_nothing_is_lost(ids):
    words = noise(shuffle=1).words(ids)
    assert [id for word in words for id in word] == ids
    assert all(not BEGINS[id] for word in words for id in word[1:])
    assert all(BEGINS[word[0]] for word in words[1:])


@given(count=st.integers(0, 40), distance=st.integers(1, 6), seed=seeds)
def test_shuffling_moves_no_word_further_than_the_distance_and_loses_none(count, distance, seed):
    words = numbered(count)
    moved = shuffled(words, distance=distance, rng=random_stream(seed))
    assert sorted(moved) == words
    assert all(abs(place - words.index(word)) <= distance for place, word in enumerate(moved))


def test_shuffling_reaches_every_order_that_the_distance_allows():
    rng = random_stream(1)
    orders = {tuple(word[0] for word in shuffled(numbered(3), distance=1, rng=rng)) for _ in range(300)}
    assert orders == {(10, 11, 12), (11, 10, 12), (10, 12, 11)}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_words_are_deleted_and_masked_at_the_rate_that_is_asked_for(share):
    words, rng = numbered(20_000), random_stream(2)
    assert is_within_binomial(20_000 - len(deleted(words, share=share, rng=rng)), 20_000, share)
    hidden = masked(words, share=share, mask=MASK, rng=rng)
    assert len(hidden) == 20_000
    assert is_within_binomial(hidden.count([MASK]), 20_000, share)


@given(count=st.integers(1, 20), share=st.floats(0, 1), seed=seeds)
def test_deleting_keeps_the_order_and_at_least_one_word(count, share, seed):
    kept = deleted(numbered(count), share=share, rng=random_stream(seed))
    assert kept == sorted(kept)
    assert len(kept) >= 1


@given(count=st.integers(0, 40), share=st.floats(0, 1), mean_span=st.floats(1, 9), seed=seeds)
def test_infilling_takes_out_the_share_and_keeps_the_rest_in_order(count, share, mean_span, seed):
    words = numbered(count)
    result = infilled(words, share=share, mean_span=mean_span, mask=MASK, rng=random_stream(seed))
    kept = [word for word in result if word != [MASK]]
    assert kept == sorted(kept)
    assert math.floor(share * count) <= count - len(kept) <= math.ceil(share * count)
    assert ([MASK] in result) == (len(kept) < count)


def test_spans_are_as_long_as_a_poisson_distribution_says():
    rng, lengths = random_stream(3), Counter()
    for _ in range(400):
        result = infilled(numbered(60), share=0.5, mean_span=3.0, mask=MASK, rng=rng)
        # In 60 words the cut of the last span hardly matters; the number of masks tells the mean.
        lengths["masks"] += result.count([MASK])
        lengths["words"] += 60 - (len(result) - result.count([MASK]))
    assert lengths["words"] == 400 * 30
    assert lengths["words"] / lengths["masks"] == pytest.approx(3.0, rel=0.1)


def test_every_order_of_spans_and_of_words_that_stay_is_equally_likely():
    rng, seen = random_stream(4), Counter()
    for _ in range(4000):
        result = infilled(numbered(4), share=0.5, mean_span=2.0, mask=MASK, rng=rng)
        if result.count([MASK]) == 1:  # one span of two words: before, between and behind the other two
            seen[tuple(word[0] for word in result)] += 1
    assert set(seen) == {(MASK, 12, 13), (10, MASK, 13), (10, 11, MASK)}
    assert all(is_within_binomial(count, seen.total(), 1 / 3) for count in seen.values())


@given(ids=rows, seed=seeds)
def test_a_line_is_spoiled_in_the_same_way_by_the_same_stream(ids, seed):
    each = noise(shuffle=2, delete=0.2, mask=0.2, infill=0.3)
    spoiled = each.spoil(ids, random_stream(seed, 0, 1))
    assert spoiled == pickle.loads(pickle.dumps(each)).spoil(ids, random_stream(seed, 0, 1))
    assert Counter(id for id in spoiled if id != MASK) <= Counter(ids)


def test_what_is_not_asked_for_is_not_done():
    ids = [10, 11, 12, 13, 14, 15]
    assert noise().spoil(ids, random_stream(1)) == ids
    assert MASK not in noise(shuffle=3, delete=0.5).spoil(ids, random_stream(1))
    assert noise(mask=1.0).spoil(ids, random_stream(1)) == [MASK] * 3
    assert noise(infill=1.0).spoil([], random_stream(1)) == []
