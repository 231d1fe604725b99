import pytest

from trimtab.choices import shape_for
from trimtab.step.accumulate import accumulate as right
from trimtab.training.preflight import cut
from trimtab.training.preflight.cut import cut_two_ways
from trimtab.types import LossOutput


def mean_of_means(objective, packs, *, scale=None):
    """What most loops do: each micro-batch's mean counts the same, however many targets it has."""
    for pack in packs:
        (objective(pack).objective / pack.num_targets / len(packs)).backward()


def number_of_packs(objective, packs, *, scale=None):
    """As before the divisor was fixed in other trainers: a sum of means."""
    for pack in packs:
        (objective(pack).objective / pack.num_targets).backward()


def everything_twice(objective, packs, *, scale=None):
    """The same error however the window is cut: only the gradient written out shows it."""
    targets = sum(pack.num_targets for pack in packs)
    for pack in (*packs, *packs):
        (objective(pack).objective / targets).backward()


@pytest.mark.quick("number_of_packs")
@pytest.mark.parametrize("wrong", [mean_of_means, number_of_packs, everything_twice])
def test_a_wrong_divisor_is_found(parts, monkeypatch, wrong):
    monkeypatch.setattr(cut, "accumulate", wrong)
    results = list(cut_two_ways(parts))
    assert [(each.code, each.severity) for each in results] == [("S201", "error")]
    assert results[0].message.startswith("cut in 4 packs a window's gradient differs by ")


def test_the_loss_of_a_poisoned_objective_differs_between_two_cuts(parts):
    healthy = parts.stepper.objective
    # What a batch statistic does: the objective of a pack depends on what else is in it.
    parts.stepper.objective = lambda pack: LossOutput(
        healthy(pack).objective * pack.num_segments, healthy(pack).loss
    )
    assert [each.code for each in cut_two_ways(parts)] == ["S201"]


def wrong_at_first(calls):
    """Wrong for so many windows, right for those after them."""
    left = [calls]

    def accumulate(objective, packs, *, scale=None):
        left[0] -= 1
        (everything_twice if left[0] >= 0 else right)(objective, packs, scale=scale)

    return accumulate


@pytest.mark.quick("1-codes0", "2-codes1")
@pytest.mark.parametrize(("calls", "codes"), [(1, []), (2, []), (3, ["S201"])])
def test_what_one_or_two_windows_show_and_the_next_does_not_is_rounding(parts, monkeypatch, calls, codes):
    monkeypatch.setattr(cut, "accumulate", wrong_at_first(calls))
    assert [each.code for each in cut_two_ways(parts)] == codes


@pytest.mark.slow
def test_the_fix_can_be_followed_and_every_difference_is_told(parts, monkeypatch):
    monkeypatch.setattr(cut, "accumulate", everything_twice)
    (found,) = cut_two_ways(parts)
    assert found.message.endswith("of its norm (bound 0.0001); in other windows by 1, 1")
    assert "set step.tokens_per_micro_batch to step.tokens_per_step" in found.fix


def test_nothing_is_found_where_nothing_is_wrong(parts):
    assert list(cut_two_ways(parts)) == []


@pytest.mark.slow
def test_packs_of_one_large_shape_are_cut_as_small_as_the_window_is(parts_with):
    parts = parts_with(step={"tokens_per_step": 1 << 13, "tokens_per_micro_batch": 1 << 13})
    parts.batching.shape = shape_for(parts.recipe, parts.datasets.lengths, packed=True)
    assert parts.batching.shape.target_slots > 1 << 13
    healthy, slots = parts.stepper.objective, []
    parts.stepper.objective = lambda pack: [slots.append(len(pack.target.ids)), healthy(pack)][1]
    assert list(cut_two_ways(parts)) == []
    assert len(slots) == 5
    assert max(slots) < 2048
