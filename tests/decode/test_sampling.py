import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from tests.reference.logits_warpers import warped
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


@given(values=logits, temperature=st.floats(0.2, 5))
def test_without_cuts_it_is_the_softmax_at_the_temperature(values, temperature):
    expected = softmax([value / temperature for value in values])
    assert allowed(values, temperature=temperature) == pytest.approx(expected, abs=1e-6)


@given(values=logits, k=st.integers(1, 15))
def test_top_k_keeps_the_k_likeliest_in_their_proportions(values, k):
    kept = sorted(values, reverse=True)[:k]
    whole = sum(math.exp(value) for value in kept)
    expected = [math.exp(value) / whole if value in kept else 0.0 for value in values]
    assert allowed(values, top_k=k) == pytest.approx(expected, abs=1e-5)


@for_each(
    ("top_p", "kept"),
    [(0.3, {1}), (0.5, {1}), (0.51, {1, 3}), (0.8, {1, 3}), (0.82, {0, 1, 3}), (1.0, {0, 1, 2, 3})],
)
def test_top_p_keeps_the_fewest_that_reach_the_probability(top_p, kept):
    values = [math.log(p) for p in (0.125, 0.5, 0.0625, 0.3125)]
    found = allowed(values, top_p=top_p)
    assert {symbol for symbol, probability in enumerate(found) if probability > 0} == kept
    assert sum(found) == pytest.approx(1)


@for_each(("epsilon", "kept"), [(0.0, 4), (0.1, 3), (0.2, 2), (0.4, 1), (0.9, 1)])
def test_epsilon_keeps_what_has_at_least_this_probability_and_always_the_likeliest(epsilon, kept):
    found = allowed([math.log(p) for p in (0.125, 0.5, 0.0625, 0.3125)], epsilon=epsilon)
    assert sum(probability > 0 for probability in found) == kept
    assert found[1] == max(found)


@given(values=logits, min_p=st.floats(0, 1), temperature=st.floats(0.2, 5))
def test_min_p_keeps_exactly_what_has_this_share_of_the_likeliest(values, min_p, temperature):
    whole = softmax([value / temperature for value in values])
    found = allowed(values, min_p=min_p, temperature=temperature)
    for probability, kept in zip(whole, found, strict=True):
        if not math.isclose(probability, min_p * max(whole), rel_tol=1e-6):
            assert (kept > 0) == (probability > min_p * max(whole))
    assert sum(found) == pytest.approx(1)


@given(values=logits, top_p=st.floats(0.01, 1), top_k=st.integers(1, 12))
def test_what_top_p_keeps_has_at_least_this_probability_and_no_symbol_too_many(values, top_p, top_k):
    whole = softmax(sorted(values, reverse=True)[:top_k])
    found = allowed(values, top_p=top_p, top_k=top_k)
    kept = sorted((whole[sorted(values, reverse=True).index(value)] for value, share in
                   zip(values, found, strict=True) if share > 0), reverse=True)  # fmt: skip
    assert sum(kept) >= top_p - 1e-9
    assert sum(kept[:-1]) < top_p + 1e-9
    assert sum(found) == pytest.approx(1)


cuts = st.fixed_dictionaries(
    {"temperature": st.floats(0.1, 4)},
    optional={
        "top_k": st.integers(1, 30),
        "top_p": st.floats(0.05, 0.99),
        "min_p": st.floats(0.01, 0.9),
        "epsilon": st.floats(0.001, 0.3),
    },
)


@given(seed=st.integers(0, 10_000), chosen=cuts)
def test_all_of_it_is_what_transformers_draws_from(seed, chosen):
    scores = 3 * torch.randn(4, 24, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found = allowed_probabilities(scores[:, None], Sampling(**chosen))[:, 0]
    torch.testing.assert_close(found, warped(scores, **chosen), rtol=1e-9, atol=1e-12)


@given(values=logits)
def test_the_narrowest_cuts_leave_the_likeliest_alone(values):
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}):
        kept = [value for value, share in zip(values, allowed(values, **narrow), strict=True) if share > 0]
        assert kept == pytest.approx([max(values)] * len(kept), abs=1e-9)


def test_what_is_out_of_reach_stays_there():
    assert allowed([0.0, -math.inf, 0.0], temperature=100.0, top_k=3, top_p=1.0, epsilon=0.0) == [0.5, 0, 0.5]


@for_each(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": math.nan},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"min_p": math.nan},
        {"epsilon": 1.0},
        {"seed": -1},
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"{name}: out of range"):
        Sampling(**wrong)
