import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.lab.statistics import holm, incomplete_beta, paired, t_quantile, two_sided_p

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@for_each(
    ("freedom", "quantile"),
    [(1, 12.7062047), (2, 4.30265273), (4, 2.77644511), (9, 2.26215716), (30, 2.04227246), (200, 1.97189622)],
)
def test_quantiles_are_those_of_the_tables(freedom, quantile):
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-7)
    assert two_sided_p(quantile, freedom) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 30])
@pytest.mark.parametrize("t", [0.1, 1.0, 2.5, 8.0])
def test_p_is_the_area_under_the_density_added_up_in_strips(freedom, t):
    front = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
    strips = 20_000
    inside = sum(
        front * (1 + (t * (i + 0.5) / strips) ** 2 / freedom) ** (-(freedom + 1) / 2) * t / strips
        for i in range(strips)
    )
    assert two_sided_p(t, freedom) == pytest.approx(1 - 2 * inside, abs=1e-8)


def test_the_incomplete_beta_function_has_its_ends_and_its_symmetry():
    assert incomplete_beta(0.0, 2.0, 0.5) == 0
    assert incomplete_beta(1.0, 2.0, 0.5) == 1
    assert incomplete_beta(0.3, 2.0, 5.0) == pytest.approx(1 - incomplete_beta(0.7, 5.0, 2.0))
    assert incomplete_beta(0.25, 1.0, 1.0) == pytest.approx(0.25)


def test_student_s_own_example():
    # Hours of sleep gained by two drugs (Student 1908, table on page 20): t = 4.06 with 9 degrees of freedom.
    differences = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = paired(differences)
    assert found.mean == pytest.approx(1.58)
    assert found.p == pytest.approx(0.0028329, rel=1e-4)
    assert (found.low, found.high) == (pytest.approx(0.700, abs=1e-3), pytest.approx(2.460, abs=1e-3))


@given(st.lists(NUMBERS, min_size=2, max_size=12))
def test_the_interval_leaves_zero_out_where_p_is_small(differences):
    found = paired(differences)
    assert found.low <= found.mean <= found.high
    assert 0 <= found.p <= 1
    if found.deviation > 0 and not math.isclose(found.p, 0.05, rel_tol=1e-6):
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_differences_that_are_all_the_same_leave_nothing_to_chance():
    assert (paired([0.0, 0.0]).p, paired([0.5, 0.5, 0.5]).p) == (1.0, 0.0)


@for_each("differences", [[], [1.0], [1.0, math.nan], [1.0, math.inf]])
def test_what_cannot_be_compared_is_refused(differences):
    with pytest.raises(ValueError, match="at least two finite"):
        paired(differences)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_his_procedure_step_by_step(values):
    adjusted = holm(values)
    order = sorted(range(len(values)), key=lambda each: values[each])
    for level in (0.01, 0.05, 0.5):
        rejected = set()
        for rank, place in enumerate(order):
            if values[place] * (len(values) - rank) >= level:
                break
            rejected.add(place)
        assert {place for place, value in enumerate(adjusted) if value < level} == rejected


def test_of_differences_by_chance_one_in_twenty_is_called_significant():
    chance = random.Random(1)
    found = [paired([chance.gauss(0, 1) for _ in range(5)]).p < 0.05 for _ in range(1000)]
    assert 0.03 < sum(found) / len(found) < 0.07
