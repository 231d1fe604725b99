import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.mixture import Mixture

corpora = st.lists(st.tuples(st.integers(1, 60), st.floats(0.01, 7.0)), min_size=1, max_size=4)
seeds = st.integers(0, 2**63 - 1)


def mixture_of(corpora, seed):
    lengths, weights = zip(*corpora, strict=True)
    return Mixture.of(lengths=lengths, weights=weights, seed=seed)


def times_seen(mixture, num_positions):
    """For each corpus, how often each of its lines stands in the first so many positions."""
    places = mixture.at(np.arange(num_positions))
    return [
        np.bincount(places.line[places.corpus == number], minlength=length)
        for number, length in enumerate(mixture.lengths)
    ]


@given(lengths=st.lists(st.integers(1, 200), min_size=1, max_size=4), seed=seeds, epochs=st.integers(1, 4))
def test_with_weight_one_every_line_is_seen_exactly_once_an_epoch(lengths, seed, epochs):
    mixture = Mixture.of(lengths=lengths, weights=[1.0] * len(lengths), seed=seed)
    assert mixture.examples_per_epoch == sum(lengths)
    for seen in times_seen(mixture, epochs * mixture.examples_per_epoch):
        assert (seen == epochs).all()


@given(corpora=corpora, seed=seeds, epochs=st.integers(1, 5))
def test_whatever_the_weights_no_line_is_ever_seen_more_than_once_more_often_than_its_like(
    corpora, seed, epochs
):
    mixture = mixture_of(corpora, seed)
    for (length, weight), seen in zip(
        corpora, times_seen(mixture, epochs * mixture.examples_per_epoch), strict=True
    ):
        assert len(seen) == length, "no line beyond the end"
        assert seen.max() - seen.min() <= 1
        assert seen.sum() == epochs * max(1, round(weight * length))


@pytest.mark.slow
@given(corpora=corpora, seed=seeds, start=st.integers(0, 10**12))
def test_a_block_of_positions_is_what_its_positions_are_one_by_one(corpora, seed, start):
    mixture = mixture_of(corpora, seed)
    block = mixture.at(np.arange(start, start + 20))
    for number in range(20):
        one = mixture.at(np.array([start + number]))
        for single, many in ((one.corpus, block.corpus), (one.line, block.line), (one.turn, block.turn)):
            assert single[0] == many[number]


def test_corpora_are_mixed_all_along_an_epoch_not_one_after_another():
    mixture = Mixture.of(lengths=[600, 400], weights=[1.0, 1.0], seed=3)
    corpus = mixture.at(np.arange(1000)).corpus
    for tenth in np.split(corpus, 10):
        assert 20 <= (tenth == 1).sum() <= 60


@pytest.mark.parametrize("other", [{"seed": 2}, {"epoch": 1}])
def test_another_seed_or_epoch_is_another_order(other):
    def lines(seed=1, epoch=0):
        mixture = Mixture.of(lengths=[1000], weights=[1.0], seed=seed)
        return mixture.at(np.arange(1000) + 1000 * epoch).line

    assert (lines() == lines(**other)).mean() < 0.02


def test_corpora_follow_one_another_in_another_way_in_each_epoch():
    mixture = Mixture.of(lengths=[500, 500], weights=[1.0, 1.0], seed=1)
    first, second = np.split(mixture.at(np.arange(2000)).corpus, 2)
    assert 0.4 < (first == second).mean() < 0.6


def test_half_a_corpus_is_another_half_each_time_it_begins_anew():
    mixture = Mixture.of(lengths=[1000], weights=[0.5], seed=1)
    halves = [set(mixture.at(np.arange(500) + 500 * epoch).line.tolist()) for epoch in range(4)]
    assert not halves[0] & halves[1]
    assert not halves[2] & halves[3]
    assert 200 < len(halves[0] & halves[2]) < 300


def test_the_turn_counts_how_often_a_corpus_has_been_dealt_out():
    mixture = Mixture.of(lengths=[10, 10], weights=[2.0, 0.5], seed=1)
    places = mixture.at(np.arange(2 * mixture.examples_per_epoch))
    assert sorted(places.turn[places.corpus == 0].tolist()) == sorted([0, 1, 2, 3] * 10)
    assert (places.turn[places.corpus == 1] == 0).all()


@given(
    corpora=st.lists(st.tuples(st.integers(1, 5000), st.floats(0.1, 7.0)), min_size=1, max_size=6),
    temperature=st.floats(1.0, 100.0),
)
def test_shares_follow_the_formula_of_the_temperature_and_the_epoch_stays_as_long(corpora, temperature):
    lengths, weights = zip(*corpora, strict=True)
    natural = Mixture.of(lengths=lengths, weights=weights, seed=1)
    mixture = Mixture.of(lengths=lengths, weights=weights, seed=1, temperature=temperature)
    assert mixture.examples_per_epoch == natural.examples_per_epoch
    powers = [share ** (1 / temperature) for share in natural.shares]
    for share, power in zip(mixture.shares, powers, strict=True):
        # Rounding moves two ends of a part by half an example each; the one example that each has comes from another.
        slack = (1 + len(corpora)) / mixture.examples_per_epoch
        assert share == pytest.approx(power / sum(powers), abs=slack)
    assert min(mixture.draws) >= 1


def test_temperature_one_is_the_mixture_without_it_and_a_very_high_one_makes_all_corpora_alike():
    given = {"lengths": [9000, 900, 100], "weights": [1.0, 2.0, 1.0], "seed": 4}
    assert Mixture.of(**given, temperature=1.0) == Mixture.of(**given)
    assert Mixture.of(**given, temperature=1000.0).shares == pytest.approx([1 / 3] * 3, abs=0.003)
    # By hand: 9000, 1800 and 100 lines at temperature 2 are as 94.87, 42.43 and 10.
    assert Mixture.of(**given, temperature=2.0).shares == pytest.approx([0.6441, 0.2880, 0.0679], abs=2e-4)


@given(
    corpora=corpora,
    weights=st.lists(st.just(0.0) | st.floats(0.01, 9.0), min_size=4, max_size=4).filter(lambda w: w[0] > 0),
    stage=st.integers(0, 5),
    epochs=st.integers(1, 3),
)
def test_a_later_stage_keeps_the_length_of_the_epoch_and_deals_fairly(corpora, weights, stage, epochs):
    whole = mixture_of(corpora, 7)
    mixture = whole.reweighted(weights[: len(corpora)], temperature=1.0, stage=stage)
    assert mixture.examples_per_epoch == whole.examples_per_epoch
    for seen, weight in zip(times_seen(mixture, epochs * mixture.examples_per_epoch), weights, strict=False):
        assert seen.max() - seen.min() <= 1
        assert (seen.sum() > 0) == (weight > 0)


def test_another_stage_with_the_same_weights_is_another_order():
    whole = Mixture.of(lengths=[1000], weights=[1.0], seed=1)
    first, second = (whole.reweighted([1.0], temperature=1.0, stage=stage) for stage in (0, 1))
    assert first == whole
    positions = np.arange(1000)
    assert (first.at(positions).line == second.at(positions).line).mean() < 0.02
    assert not set(first.at(positions).turn) & set(second.at(positions).turn)
