import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.demo_pairs import demo_pairs, lost
from tests.for_each import for_each
from trimtab.data.drift import Lengths, correlation, find_drift, length_costs, usual_lengths


def lengths(pairs):
    return tuple(np.array([len(pair[side]) for pair in pairs]) for side in (0, 1))


def drift_of(pairs):
    source, target = lengths(pairs)
    return find_drift(source, target, usual_lengths(source, target))


@given(st.integers(0, 400), st.integers(0, 400))
def test_a_cost_is_that_of_the_paper(source, target):
    usual = Lengths(ratio=1.06, variance=6.8)
    delta = (target - source * usual.ratio) / math.sqrt(max(1, source) * usual.variance)
    # Equation 5: P(delta) = 2 (1 - Phi(|delta|)).
    expected = -math.log(max(1e-300, 2 * (1 - 0.5 * (1 + math.erf(abs(delta) / math.sqrt(2))))))
    (cost,) = length_costs(np.array([source]), np.array([target]), usual)
    if abs(delta) < 5:
        assert cost == pytest.approx(expected, abs=1e-3)
    else:
        assert cost > 14


def test_real_text_that_is_in_place_has_no_drift():
    for name in ("train", "valid", "heldout"):
        assert drift_of(demo_pairs(3000, name)) is None


@for_each("line", [0, 137, 1000, 1900])
def test_a_lost_target_line_is_found_at_its_place(line):
    found = drift_of(lost(demo_pairs(2000), line))
    assert (found.kind, found.offset) == ("shifted", -1)
    assert abs(found.first - line) <= 24
    assert found.stop >= 1980
    assert abs(found.correlation) < 0.3


@settings(max_examples=10, deadline=None)
@given(st.integers(100, 700), st.integers(1, 3))
def test_lost_source_lines_are_found_wherever_they_are(line, count):
    pairs = demo_pairs(1000)
    for _ in range(count):
        pairs = [pair[::-1] for pair in lost([pair[::-1] for pair in pairs], line)]
    found = drift_of(pairs)
    assert (found.kind, found.offset) == ("shifted", count)
    assert abs(found.first - line) <= 36


def test_a_shuffled_target_is_unrelated_from_the_first_line_on():
    sources, targets = zip(*demo_pairs(1000), strict=True)
    shuffled = random.Random(1).sample(targets, len(targets))
    found = drift_of(list(zip(sources, shuffled, strict=True)))
    assert (found.kind, found.first, found.stop) == ("unrelated", 0, 1000)
    assert abs(found.correlation) < 0.1


def test_a_shuffled_stretch_is_found():
    pairs = list(demo_pairs(2000))
    targets = random.Random(1).sample([target for _, target in pairs[800:1600]], 800)
    pairs[800:1600] = [(source, target) for (source, _), target in zip(pairs[800:1600], targets, strict=True)]
    found = drift_of(pairs)
    assert (found.kind, found.first, found.stop) == ("unrelated", 800, 1600)


@given(st.floats(0, 0.9), st.floats(0, 0.6), st.integers(0, 99))
def test_blank_lines_on_either_side_by_chance_are_no_drift(sources, targets, seed):
    draw = np.random.default_rng(seed)
    source, target = lengths(demo_pairs(2000))
    source[draw.random(len(source)) < sources] = 0
    target[draw.random(len(target)) < targets] = 0
    assert find_drift(source, target, usual_lengths(source, target)) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_what_is_usual_is_that_of_the_pairs_without_a_blank_side(pairs):
    source, target = np.array(pairs, int).reshape(-1, 2).T
    whole = np.array([pair for pair in pairs if all(pair)], int).reshape(-1, 2)
    assert usual_lengths(source, target) == usual_lengths(*whole.T)
    assert correlation(source, target) == pytest.approx(correlation(*whole.T), nan_ok=True)


def test_lines_that_are_shifted_are_told_where_every_second_one_is_blank_on_both_sides():
    pairs = [pair if number % 2 else ("", "") for number, pair in enumerate(demo_pairs(2000))]
    assert drift_of(pairs) is None
    found = drift_of(lost(pairs, 800))
    assert (found.kind, found.offset, found.correlation) == ("shifted", -1, 0.0)
    assert abs(found.first - 800) <= 24


def test_lengths_that_do_not_differ_say_nothing():
    same = np.full(500, 20)
    assert math.isnan(correlation(same, same))
    assert find_drift(same, same, usual_lengths(same, same)) is None


def test_a_few_lines_say_nothing():
    for count in range(4):
        some = np.arange(count) * 10
        assert find_drift(some, some[::-1], usual_lengths(some, some)) is None


@pytest.mark.parametrize("odd", [0, 1, 3])
@pytest.mark.parametrize("offset", [1, -1])
def test_one_line_that_fits_its_neighbour_is_no_drift_however_well_it_does_and_three_are(odd, offset):
    """A long sentence translated a line too late, or too early, says no more than the most that one line may say."""
    source, target = np.full(60, 50), np.full(60, 50)
    places = np.array([20, 26, 32])[:odd]
    source[places], target[places + offset] = 250, 250
    found = find_drift(source, target, Lengths(ratio=1.0, variance=6.8))
    if odd == 3:
        assert (found.kind, found.offset) == ("shifted", offset)
        assert found.stop in (33, 34)
    else:
        assert found is None


@for_each(("size", "found"), [(6, False), (9, False), (12, True), (20, True)])
def test_a_stretch_of_fewer_than_ten_lines_is_no_drift(size, found):
    source = np.random.default_rng(1).integers(20, 200, 80)
    target = source.copy()
    target[31 : 31 + size] = source[30 : 30 + size]
    target[30] = 100
    drift = find_drift(source, target, Lengths(ratio=1.0, variance=6.8))
    assert (drift is not None) == found
    if drift is not None:
        assert (drift.kind, drift.offset) == ("shifted", 1)
        assert drift.first == 30
        assert 0 <= drift.stop - (30 + size) <= 1, "the line after it fits neither here nor there"
