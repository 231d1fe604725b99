import pytest

from trimtab.config.guard import GuardConfig
from trimtab.tasks.text.probing import window_of
from trimtab.training.quarantine import Quarantine
from trimtab.training.step_judge import StepJudge
from trimtab.training.stopwatch import Lap
from trimtab.types import Ragged, SkipReason, TrainState

WINDOW = window_of(Ragged.of([[5, 3]]), Ragged.of([[6, 3]]))


class Health:
    """Remembers what it is told."""

    def __init__(self):
        self.told = []
        self.waiting = self

    def add(self, **numbers):
        self.told.append(("add", numbers))

    def after_flush(self, **numbers):
        self.told.append(("after_flush", numbers))


class Asked(Quarantine):
    """Looks into nothing."""

    def __init__(self):
        object.__setattr__(self, "asked", [])

    def look_into(self, window, skip_reason, *, step, traced):
        self.asked.append((window, skip_reason, step, traced))
        return []


@pytest.fixture
def judge():
    told = []
    made = StepJudge(GuardConfig(cap=2), Health, Asked(), tell=told.append)
    made.told = told
    return made


def line(step, *, skipped=False):
    numbers = {"loss": 2.0, "grad_norm": 1.0, "learning_rate": 0.1}
    return {"step": step, "clipped": False, "skipped": skipped, **numbers}


def test_an_applied_step_counts_for_the_guard_and_for_health(judge):
    judge.judge(WINDOW, SkipReason.NONE, line(1), position=0)
    assert judge.skips.accepted[0].step == 1
    ((name, numbers),) = judge.health.told
    assert (name, numbers["applied"], numbers["learning_rate"]) == ("after_flush", True, 0.1)
    assert judge.told == []


def test_refused_steps_are_told_traced_from_the_first_and_end_in_a_decision(judge):
    for step in (1, 2):
        judge.judge(WINDOW, SkipReason.NOT_FINITE, line(step, skipped=True), position=0)
    assert {each.code for each in judge.told} >= {"S901"}
    assert [traced for *_, traced in judge.quarantine.asked] == [True, False]
    assert judge.must_decide


def test_what_a_checkpoint_keeps_of_it_comes_back_with_new_health(judge):
    judge.judge(WINDOW, SkipReason.NOT_FINITE, line(1, skipped=True), position=0)
    saved, health = judge.to_dict(), judge.health
    judge.begin_at(TrainState(step=1, guard=saved | {"masked": [[4, 5]]}))
    assert judge.to_dict() == saved | {"masked": [[4, 5]]}
    assert judge.health is not health


def test_a_lap_goes_to_health_and_a_stall_is_told(judge):
    for step in range(5):
        judge.after_lap(Lap(0.3, 0.1, 0.0, 0.3), step=step + 1, count=1)
    assert judge.told == []
    judge.after_lap(Lap(31.0, 30.0, 0.0, 31.0), step=6, count=1)
    assert [each.code for each in judge.told] == ["P902"]
    assert judge.health.told[-1] == ("add", {"steps": 1, "seconds": 31.0, "waited": 30.0, "device": 0.0})
