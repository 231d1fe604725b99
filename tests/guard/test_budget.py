import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.guard.budget import Budget


@given(st.lists(st.booleans(), max_size=300))
def test_the_share_is_that_of_the_last_window(refusals):
    budget = Budget(window=50, warn_above=0.1, stop_above=0.4)
    for number, refused in enumerate(refusals):
        finding = budget.after(refused=refused)
        recent = refusals[max(0, number - 49) : number + 1]
        share = sum(recent) / 50
        assert budget.share_of_window == share
        assert budget.share == sum(recent) / len(recent)
        assert budget.over == (share > 0.4)
        if budget.over:
            assert finding is not None
            assert finding.severity == "error"


def test_a_warning_is_given_once_until_the_run_has_calmed():
    budget = Budget(window=50, warn_above=0.1, stop_above=0.9)
    told = [budget.after(refused=number % 4 == 0) is not None for number in range(200)]
    assert sum(told) == 1
    for _ in range(50):
        budget.after(refused=False)
    assert sum(budget.after(refused=True) is not None for _ in range(10)) == 1


def test_the_share_of_a_short_run_is_that_of_its_steps():
    budget = Budget()
    assert budget.share == 0
    for number in range(50):
        budget.after(refused=number >= 40)
    assert (budget.share, budget.share_of_window, budget.over) == (0.2, 0.01, False)


@pytest.mark.parametrize(("left", "warnings"), [(3, [5]), (2, [5, 48])])
def test_a_run_has_calmed_at_half_the_share_that_is_told_and_not_before(left, warnings):
    budget = Budget(window=40, warn_above=0.1, stop_above=0.9)
    steps = [True] * 5 + [False] * (40 - left) + [True] * 6
    told = [number for number, refused in enumerate(steps, start=1) if budget.after(refused=refused)]
    # Four of forty may be refused; so many of the first five were in the window when the others began.
    assert told == warnings
    assert len(budget.refused) > 4, "above the bound when all is done"
