import json
import math

from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.guard import GuardConfig
from trimtab.training.skips import MARGIN, Skips
from trimtab.types import SkipReason


def steps(skips: Skips, verdicts: list[SkipReason], *, first: int = 1) -> list[str]:
    """Codes of what was told of these steps, one position each."""
    told = []
    for step, skip_reason in enumerate(verdicts, first):
        found = skips.after(skip_reason, step=step, position=step - 1, loss=2.0, grad_norm=1.0)
        told += [finding.code for finding in found]
    return told


GOOD = [SkipReason.NONE] * 20


def test_each_refusal_is_told_by_its_own_code_and_the_eighth_in_a_row_besides():
    skips = Skips(GuardConfig())
    assert steps(skips, GOOD) == []
    verdicts = [SkipReason.NOT_FINITE, SkipReason.LOSS_SPIKE, *[SkipReason.GRADIENT_SPIKE] * 5]
    assert steps(skips, verdicts, first=21) == ["S901", "S902", *["S903"] * 5]
    assert not skips.must_decide
    assert steps(skips, [SkipReason.LOSS_SPIKE], first=28) == ["S902", "S904"]
    assert skips.must_decide
    assert (skips.onset, skips.broken) == (21, 21)


def test_an_accepted_step_ends_a_streak():
    skips = Skips(GuardConfig())
    steps(skips, [*GOOD, *[SkipReason.LOSS_SPIKE] * 7, SkipReason.NONE])
    assert (skips.streak.length, skips.onset, skips.broken) == (0, 0, 0)


def test_what_the_loss_scale_and_the_mask_skip_is_no_refusal():
    skips = Skips(GuardConfig())
    assert steps(skips, [SkipReason.OVERFLOW, SkipReason.MASKED] * 100) == []
    assert not skips.must_decide
    assert len(skips.accepted) == 0


def test_more_than_one_in_twenty_ends_the_run_though_none_is_in_a_row():
    skips = Skips(GuardConfig())
    told = steps(skips, [SkipReason.NONE, SkipReason.LOSS_SPIKE] * 51)
    assert skips.must_decide
    assert told.count("S902") == 51
    assert told.count("S905") == 2  # a warning above 1%, an error above 5%


def test_the_oldest_remembered_step_is_a_window_ago():
    skips = Skips(GuardConfig(window=16, active_from=8))
    steps(skips, [SkipReason.NONE] * 50)
    assert (skips.accepted[0].step, skips.accepted[0].position) == (35, 34)


def test_a_run_goes_back_only_so_often_in_a_thousand_steps():
    skips = Skips(GuardConfig(rewinds=2))
    skips.rewound = [100, 900]
    assert not skips.may_rewind(1000)
    assert skips.may_rewind(1101)
    assert not Skips(GuardConfig(rewinds=0)).may_rewind(10)


def test_what_was_left_behind_is_remembered_on_the_branch_that_goes_on():
    gone = Skips(GuardConfig())
    gone.rewound, gone.masked = [50], [[20, 70]]
    now = Skips(GuardConfig())
    now.after_rewind(gone, step=300, masked=(260, 320))
    assert (now.rewound, now.masked) == ([50, 300], [[20, 70], [260, 320]])


@given(st.integers(1, 60), st.integers(0, 40))
def test_a_run_that_went_back_has_refused_what_it_refused_though_it_leaves_the_steps_out(refused, before):
    onset, last = before + MARGIN + 1, before + MARGIN + refused
    verdicts = (
        [SkipReason.NONE] * (onset - 1) + [SkipReason.LOSS_SPIKE] * refused + [SkipReason.NONE] * MARGIN
    )
    straight, went_back = Skips(GuardConfig()), Skips(GuardConfig())
    steps(straight, verdicts)
    went_back.after_rewind(straight, step=last, masked=(onset - MARGIN, last + MARGIN))
    steps(went_back, [SkipReason.NONE] * before + [SkipReason.MASKED] * (refused + 2 * MARGIN), first=1)
    assert went_back.budget.to_dict() == straight.budget.to_dict()
    assert (went_back.streak.length, went_back.unsettled) == (0, [])


def test_a_run_that_goes_back_again_and_again_is_told_of_and_ends_by_its_budget():
    skips, told, step = Skips(GuardConfig()), [], 0
    for _ in range(7):
        skips.masked.append([step + 1, step + 2 * MARGIN + 8])
        told += steps(skips, [SkipReason.MASKED] * (2 * MARGIN + 8), first=step + 1)
        step += 2 * MARGIN + 8
    assert set(told) == {"S905"}
    assert skips.must_decide


@given(st.lists(st.sampled_from(list(SkipReason)), max_size=60), st.integers(0, 60))
def test_counts_that_were_saved_as_json_go_on_as_if_never_stopped(verdicts, cut):
    verdicts, cut = [*GOOD, *verdicts], cut + len(GOOD)  # no spike is told before some steps were accepted
    whole, half = Skips(GuardConfig()), Skips(GuardConfig())
    steps(half, verdicts[:cut])
    resumed = Skips(GuardConfig())
    resumed.from_dict(json.loads(json.dumps(half.to_dict())), masked=half.masked)
    told = steps(whole, verdicts)
    assert (
        steps(Skips(GuardConfig()), verdicts[:cut])
        + steps(resumed, verdicts[cut:], first=min(cut, len(verdicts)) + 1)
        == told
    )
    assert resumed.to_dict() == whole.to_dict()


def test_a_loss_that_is_no_number_is_told_as_such():
    skips = Skips(GuardConfig())
    found = skips.after(SkipReason.NOT_FINITE, step=3, position=0, loss=math.nan, grad_norm=math.inf)
    assert found[0].message.startswith("step 3 was skipped: loss nan, gradient norm inf")


def test_a_streak_that_reached_the_cap_is_decided_though_an_accepted_step_came_meanwhile():
    """On a GPU the host looks every ten steps."""
    skips = Skips(GuardConfig())
    steps(skips, [*GOOD, *[SkipReason.LOSS_SPIKE] * 8, SkipReason.NONE, SkipReason.NONE])
    assert skips.must_decide
    assert skips.unsettled == [21, 28, 0]
    skips.resolve_streak()
    assert not skips.must_decide


def test_the_first_step_of_a_streak_that_is_not_finite_is_known():
    skips = Skips(GuardConfig())
    steps(skips, [*GOOD, SkipReason.LOSS_SPIKE, SkipReason.NOT_FINITE, SkipReason.NOT_FINITE])
    assert (skips.onset, skips.broken) == (21, 22)
