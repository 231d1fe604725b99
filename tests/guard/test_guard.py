import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.guard import Guard, Verdict


def warmed() -> Guard:
    guard = Guard()
    for step in range(100):
        assert guard.judge(2.0 + 0.01 * (step % 7), 1.0 + 0.01 * (step % 5)).apply
    return guard


@for_each(
    ("loss", "norm"),
    [(math.nan, 1.0), (math.inf, 1.0), (2.0, math.nan), (2.0, -math.inf), (math.nan, math.nan)],
)
def test_what_is_not_finite_is_refused_from_the_first_step_on(loss, norm):
    verdict = Guard().judge(loss, norm)
    assert not verdict.apply
    assert verdict.finding.code == "S901"


@pytest.mark.parametrize(
    ("loss", "norm", "code"), [(20.0, 1.0, "S902"), (2.0, 1e3, "S903"), (2.0, 1e30, "S903")]
)
def test_a_spike_is_refused_and_leaves_no_trace(loss, norm, code):
    guard = warmed()
    before = guard.outliers.to_dict()
    verdict = guard.judge(loss, norm)
    assert not verdict.apply
    assert verdict.finding.code == code
    assert guard.outliers.to_dict() == before
    assert guard.judge(2.0, 1.0).apply


def test_seven_refused_in_a_row_are_spikes_and_eight_are_unsettling():
    guard = warmed()
    verdicts = [guard.judge(9.0, 1.0) for _ in range(8)]
    assert [verdict.unsettled for verdict in verdicts] == [False] * 7 + [True]
    assert verdicts[-1].finding.code == "S904"
    assert verdicts[-1].streak == 8


def test_a_new_level_that_is_accepted_is_learned():
    guard = warmed()
    while not guard.judge(4.0, 1.0).unsettled:
        pass
    guard.accept_level()
    assert all(guard.judge(4.0 + 0.01 * (step % 3), 1.0).apply for step in range(100))
    assert not guard.judge(9.0, 1.0).apply


def test_more_than_one_in_a_hundred_is_told_once_and_one_in_twenty_is_the_end():
    guard = Guard()
    said = []
    for step in range(2000):
        verdict = guard.judge(math.nan if step % 10 == 9 else 2.0 + 0.01 * (step % 7), 1.0)
        if verdict.finding and verdict.finding.code == "S905":
            said.append((step, verdict.finding.severity, verdict.over_budget))
        if verdict.over_budget:
            break
    assert [severity for _, severity, _ in said] == ["warning", "error"]
    assert said[-1][2]
    assert said[0][0] < said[1][0] == 509


def test_a_new_level_that_is_accepted_is_no_streak_any_more():
    guard = warmed()
    while not guard.judge(4.0, 1.0).unsettled:
        pass
    guard.accept_level()
    verdicts = [guard.judge(math.nan, 1.0) for _ in range(8)]
    assert [verdict.streak for verdict in verdicts] == list(range(1, 9))
    assert [verdict.unsettled for verdict in verdicts] == [False] * 7 + [True]


@given(
    st.lists(st.sampled_from([2.0, 2.1, 1.9, 50.0, math.nan]), max_size=150),
    st.lists(st.sampled_from([2.0, 2.1, 50.0, math.inf]), min_size=1, max_size=30),
)
def test_a_guard_that_was_saved_as_json_goes_on_as_the_one_that_was_not(before, after):
    guard, again = Guard(), Guard()
    for loss in before:
        guard.judge(loss, 1.0)
    again.from_dict(json.loads(json.dumps(guard.to_dict(), allow_nan=False)))
    assert [guard.judge(loss, 1.0) for loss in after] == [again.judge(loss, 1.0) for loss in after]


def test_a_guard_is_no_callback_and_says_what_is():
    for name in ("on_init_end", "on_train_start", "setup"):
        with pytest.raises(AttributeError, match=r"no callback.*guard_trainer.*GuardCallback"):
            getattr(Guard(), name)
    with pytest.raises(AttributeError, match="has no attribute 'jugde'"):
        Guard().jugde(1.0, 1.0)


def test_a_verdict_is_true_where_the_step_is_applied():
    assert Guard().judge(1.0, 1.0)
    assert not Guard().judge(math.nan, 1.0)


def test_a_verdict_is_a_value():
    assert Verdict(apply=True) == Verdict(apply=True, finding=None, streak=0)
    with pytest.raises(AttributeError):
        Verdict(apply=True).apply = False
