import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.decode.sampling import Sampling, allowed_probabilities
from trimtab.errors import InputError

logits = st.lists(st.floats(-5, 5), min_size=2, max_size=12, unique=True)


def allowed(values, **settings) -> list[float]:
    return allowed_probabilities(torch.tensor([[values]], dtype=torch.float64), Sampling(**settings))[
        0, 0
    ].tolist()


def softmax(values):
    weights = [math.exp(value) for value in values]
    return [weight / sum(weights) for weight in weights]


@settings(max_examples=60, deadline=None)
@given(values=logits, temperature=st.floats(0.2, 5))
def test_without_cuts_it_is_the_softmax_at_the_temperature(values, temperature):
    expected = softmax([value / temperature for value in values])
    assert allowed(values, temperature=temperature) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(values=logits, k=st.integers(1, 15))
def test_top_k_keeps_the_k_likeliest_in_their_proportions(values, k):
    kept = sorted(values, reverse=True)[:k]
    whole = sum(math.exp(value) for value in kept)
    expected = [math.exp(value) / whole if value in kept else 0.0 for value in values]
    assert allowed(values, top_k=k) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.3, {1}), (0.5, {1}), (0.51, {1, 3}), (0.8, {1, 3}), (0.82, {0, 1, 3}), (1.0, {0, 1, 2, 3})],
)
def test_top_p_keeps_the_fewest_that_reach_the_probability(top_p, kept):
    values = [math.log(p) for p in (0.125, 0.5, 0.0625, 0.3125)]
    found = allowed(values, top_p=top_p)
    assert {symbol for symbol, probability in enumerate(found) if probability > 0} == kept
    assert sum(found) == pytest.approx(1)


@pytest.mark.parametrize(("epsilon", "kept"), [(0.0, 4), (0.1, 3), (0.2, 2), (0.4, 1), (0.9, 1)])
def test_epsilon_keeps_what_has_at_least_this_probability_and_always_the_likeliest(epsilon, kept):
    found = allowed([math.log(p) for p in (0.125, 0.5, 0.0625, 0.3125)], epsilon=epsilon)
    assert sum(probability > 0 for probability in found) == kept
    assert found[1] == max(found)


def test_what_is_out_of_reach_stays_there():
    assert allowed([0.0, -math.inf, 0.0], temperature=100.0, top_k=3, top_p=1.0, epsilon=0.0) == [0.5, 0, 0.5]


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": math.nan},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"epsilon": 1.0},
        {"seed": -1},
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"{name}: out of range"):
        Sampling(**wrong)
