from hypothesis import given
from hypothesis import strategies as st

from trimtab.guard.streak import Streak


@given(st.lists(st.booleans(), max_size=60))
def test_the_length_is_that_of_the_refused_at_the_end(refusals):
    streak = Streak(cap=5)
    for refused in refusals:
        streak.after(refused=refused)
    at_the_end = 0
    for refused in reversed(refusals):
        if not refused:
            break
        at_the_end += 1
    assert streak.length == at_the_end
    assert streak.unsettled == (at_the_end >= 5)
