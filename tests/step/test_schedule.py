import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trimtab.config.step import Constant, Cosine, InverseSqrt, LinearWarmup
from trimtab.step.schedule import rate_at

ALL = [Constant(), LinearWarmup(), InverseSqrt(), Cosine(), Cosine(floor=0.1)]


@pytest.mark.parametrize("schedule", ALL, ids=str)
@given(warmup=st.integers(0, 200), length=st.integers(1, 1000))
def test_it_rises_to_the_peak_and_never_above_and_never_below_zero(schedule, warmup, length):
    assume(warmup < length)
    rates = [rate_at(schedule, step=s, length=length, warmup=warmup) for s in range(length)]
    assert max(rates) == 1.0
    assert min(rates) >= 0
    assert rates[0] > 0
    peak = max(warmup - 1, 0)
    assert rates[peak] == 1.0
    assert all(a < b for a, b in pairwise(rates[: peak + 1]))
    assert all(a >= b for a, b in pairwise(rates[peak:]))


def test_linear_warmup_falls_in_a_line_to_zero_at_the_end():
    rates = [rate_at(LinearWarmup(), step=s, length=100, warmup=20) for s in range(101)]
    assert rates[19] == rates[20] == 1.0
    assert rates[60] == pytest.approx(0.5)
    assert rates[100] == 0


def test_cosine_ends_at_its_floor_and_is_halfway_in_the_middle():
    at = lambda s: rate_at(Cosine(floor=0.2), step=s, length=100, warmup=20)  # noqa: E731
    assert at(60) == pytest.approx(0.6)
    assert at(100) == pytest.approx(0.2)


def test_inverse_sqrt_is_the_papers_rate_over_its_peak():
    for step in (100, 400, 1600):
        noam = min((step + 1) ** -0.5, (step + 1) * 100**-1.5) / 100**-0.5
        assert rate_at(InverseSqrt(), step=step, length=math.inf, warmup=100) == pytest.approx(noam)


def test_before_the_length_is_known_the_rate_stays_at_its_peak():
    assert rate_at(LinearWarmup(), step=50, length=math.inf, warmup=20) == 1.0
