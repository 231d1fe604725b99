import json
import math

import pytest

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.guard import Guard, OutlierRule
from trimtab.guard.saved_state import checked_state


def saved(steps=20, **changes):
    guard = Guard(OutlierRule(window=16))
    for step in range(steps):
        guard.judge(1.0 + step / 100, 1.0)
    return guard.to_dict() | changes


WRONG = {
    "nothing": ({}, "lacks outliers, streak, budget"),
    "nested": ({"guard": saved()}, r"from_dict\(saved\['guard'\]\)"),
    "JSON": (json.dumps(saved()), r"json\.loads"),
    "None": (None, "the state is no dict"),
    "another window": (saved() | {"window": 32}, r"OutlierRule\(window=32\)"),
    "a part": ({"outliers": {}}, "lacks streak, budget"),
    "no part": (saved(streak=3), "streak is no dict"),
    "no list": (saved(outliers={"losses": 1, "log_norms": []}), "losses: is no list"),
    "damaged": (saved(outliers={"losses": [1.0], "log_norms": []}), "1 losses and 0 norms"),
    "no number": (saved(outliers={"losses": [math.nan], "log_norms": [0.0]}), "is no number"),
    "text": (saved(streak={"length": "2"}), "streak.length: is no whole number"),
}


@for_each("name", WRONG)
def test_what_is_no_state_of_this_guard_is_refused(name):
    state, said = WRONG[name]
    with pytest.raises(InputError, match=rf"(?s)Guard\.from_dict.*{said}"):
        checked_state(state, window=16)


def test_a_state_that_is_refused_changes_nothing():
    guard = Guard(OutlierRule(window=16))
    guard.from_dict(saved())
    with pytest.raises(InputError):
        guard.from_dict(saved(budget={"steps": -1, "refused": []}))
    assert guard.to_dict() == saved()


def test_states_of_earlier_versions_named_no_window():
    older = saved()
    del older["window"]
    Guard(OutlierRule(window=32)).from_dict(older)  # which may be one of 32 that is not full yet
    with pytest.raises(InputError, match="16 remembered steps"):
        Guard(OutlierRule(window=8)).from_dict(older)
