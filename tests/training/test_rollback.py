import math

import pytest
import torch

from tests.training.small_line import Line, small_line
from trimtab.errors import RunFailed
from trimtab.training import recovery
from trimtab.training.restore import restore
from trimtab.training.resumed import truncate_logs
from trimtab.training.rollback import MARGIN, rewind
from trimtab.types import LossOutput

CHANGES = {
    "length": "160 steps",
    "evaluate.every": "500 steps",
    "checkpoint": {"every": "10 steps", "keep": 2},
    "guard": {"healthy_after": 20},
}


def poked(line: Line, *, after: int, times: int = 1, value: float = math.nan):
    """Overwrites a weight once the step is taken, the first few times that the run comes by."""
    left = [times]

    def poke(step):
        if step == after and left[0]:
            left[0] -= 1
            with torch.no_grad():
                next(iter(line.parts.model.parameters())).view(-1)[:50] = value

    line.told.watch = poke


def louder(line: Line, *, from_step: int, until_step: int = 10**9, factor: float):
    """Loss and gradient of these steps (counted from 1) times a factor."""
    healthy = line.parts.stepper.objective

    def objective(pack):
        out = healthy(pack)
        steps = len(line.told.steps) + 1
        there = from_step <= steps <= until_step and torch.is_grad_enabled()
        return LossOutput(out.objective * factor, out.loss * factor) if there else out

    line.parts.stepper.objective = objective


def codes(line: Line) -> list[str]:
    return [each["code"] for each in line.log("findings")]


def finding(line: Line, code: str) -> dict:
    return next(each for each in line.log("findings") if each["code"] == code)


@pytest.mark.quick("not-a-number")
@pytest.mark.parametrize(
    ("value", "after"), [(math.nan, 40), (40.0, 100)], ids=["not-a-number", "huge"]
)  # the guard needs more steps to tell what is huge
def test_spoilt_weights_send_the_run_back_and_the_steps_around_are_left_out(tmp_path, value, after):
    length = after + 40
    line = small_line(tmp_path, **CHANGES | {"length": f"{length} steps"})
    poked(line, after=after, value=value)
    state = line.train()
    assert state.step == length
    went_back = finding(line, "S907")
    assert f"steps {after + 1} to {after + 8} were skipped" in went_back["message"]
    assert f"resumes from the healthy checkpoint of step {after - 20}" in went_back["message"]
    assert went_back["step"] == after - 20
    metrics = line.log("metrics")
    assert [each["step"] for each in metrics] == list(range(1, length + 1))
    left_out = [each["step"] for each in metrics if each.get("refused") == "masked"]
    assert left_out == list(range(after + 1 - MARGIN, after + 8 + MARGIN + 1))
    assert all(torch.isfinite(each).all() for each in line.weights().values())
    assert metrics[-1]["loss"] < metrics[after - 21]["loss"] * 1.1
    assert state.updates == length - len(left_out)
    assert state.guard["refusals"]["rewound"] == [after + 8]


@pytest.mark.slow
def test_after_going_back_the_disk_knows_what_is_left_out_before_the_first_step(tmp_path, monkeypatch):
    line = small_line(tmp_path, **CHANGES)
    poked(line, after=100)
    stored = []

    def looked_at(*args):
        stored.append((rewind(*args), line.recorder.store.latest().load_state()))
        return stored[0][0]

    monkeypatch.setattr(recovery, "rewind", looked_at)
    line.train()
    state, on_disk = stored[0]
    assert state == on_disk
    assert on_disk.step == 80
    assert on_disk.guard["masked"] == [[101 - MARGIN, 108 + MARGIN]]


@pytest.mark.slow
def test_a_new_level_is_learned_and_no_step_of_it_refused_any_more(tmp_path):
    line = small_line(tmp_path, **CHANGES)
    louder(line, from_step=101, factor=20.0)
    state = line.train()
    assert state.step == 160
    assert codes(line).count("S902") == 8
    assert "steps 101 to 108 were skipped" in finding(line, "S906")["message"]
    assert "S907" not in codes(line)
    assert state.skips == 8


@pytest.mark.slow
def test_a_single_spike_costs_one_step(tmp_path):
    line = small_line(tmp_path, **CHANGES)
    louder(line, from_step=101, until_step=101, factor=1e3)
    state = line.train()
    assert (state.step, state.skips) == (160, 1)
    assert [each for each in codes(line) if each in ("S902", "S904", "S906", "S907")] == ["S902"]
    quarantined = line.log("quarantine")
    assert {each["step"] for each in quarantined} == {101}
    assert {each["code"] for each in quarantined} == {"S902"}


@pytest.mark.slow
def test_twenty_steps_that_are_no_number_leave_sound_weights_where_they_are(tmp_path):
    line = small_line(tmp_path, **CHANGES)
    line.poison(from_step=101, until_step=120)
    state = line.train()
    assert (state.step, state.skips) == (160, 20)
    assert codes(line).count("S904") == 2
    assert "S907" not in codes(line)
    assert codes(line).count("S905") == 1


@pytest.mark.slow
def test_a_run_that_is_refused_again_and_again_ends_with_a_diagnosis(tmp_path):
    line = small_line(tmp_path, **CHANGES)
    line.poison(from_step=61, until_step=10**9)
    with pytest.raises(RunFailed, match=r"the run ends at step 111: too many steps were skipped") as ended:
        line.train()
    assert "`trimtab replay RUN --step " in str(ended.value)


@pytest.mark.slow
def test_without_a_healthy_checkpoint_there_is_nothing_to_rewind_to(tmp_path):
    line = small_line(tmp_path, **{**CHANGES, "length": "60 steps", "guard": {"healthy_after": 1000}})
    poked(line, after=30)
    with pytest.raises(RunFailed, match="no healthy checkpoint to go back to"):
        line.train()
    assert line.saved_steps()


@pytest.mark.slow
def test_a_run_that_may_not_rewind_ends_where_its_weights_are_spoilt(tmp_path):
    line = small_line(tmp_path, **{**CHANGES, "guard": {"healthy_after": 20, "rewinds": 0}})
    poked(line, after=100)
    with pytest.raises(RunFailed, match=r"guard\.rewinds is 0"):
        line.train()


@pytest.mark.slow
def test_what_comes_again_after_going_back_ends_the_run_at_last(tmp_path):
    line = small_line(
        tmp_path, **{**CHANGES, "length": "400 steps", "guard": {"healthy_after": 20, "rewinds": 2}}
    )
    poked(line, after=130, times=10)
    with pytest.raises(RunFailed, match="it was rewound 2 times"):
        line.train()
    assert codes(line).count("S907") == 2


@pytest.mark.slow
def test_a_run_that_was_interrupted_among_refused_steps_ends_with_the_same_bits(tmp_path):
    changes = {**CHANGES, "checkpoint": {"every": "500 steps", "keep": 1}, "length": "130 steps"}
    whole, half = small_line(tmp_path / "whole", **changes), small_line(tmp_path / "half", **changes)
    for line in (whole, half):
        louder(line, from_step=99, until_step=111, factor=20.0)
    state = whole.train()
    half.told.watch = lambda step: step == 104 and setattr(half.recorder, "must_stop", True)
    half.train()
    again = small_line(tmp_path / "again", **changes)
    louder(again, from_step=99, until_step=111, factor=20.0)
    again.told.steps.extend([{}] * 104)
    again_state = go_on(again, half)
    assert again_state.guard == state.guard
    assert again_state.skips == state.skips == 8
    assert all(torch.equal(one, other) for one, other in zip_values(again.weights(), whole.weights()))


def go_on(line: Line, from_line: Line):
    """Trains on in another process's place, from the newest checkpoint of the first."""
    state = restore(line.parts, from_line.recorder.store.latest())
    line.recorder.begin_at(state)
    return line.train(state)


def zip_values(one: dict, other: dict):
    return [(one[name], other[name]) for name in one]


@pytest.mark.slow
def test_the_clock_does_not_go_back(tmp_path):
    line = small_line(tmp_path, **CHANGES)
    poked(line, after=100)
    seconds = []
    watch = line.told.watch

    def both(step):
        seconds.append(line.told.steps[-1]["seconds"])
        watch(step)

    line.told.watch = both
    line.train()
    assert seconds == sorted(seconds)


@pytest.mark.slow
def test_what_was_seen_on_the_branch_that_was_left_survives_a_later_resume(tmp_path):
    line = small_line(tmp_path, **CHANGES)
    poked(line, after=100)
    line.told.watch, stop = None, line.told.watch

    def until(step):
        stop(step)
        line.recorder.must_stop = line.recorder.skips.rewound != [] and step == 85

    line.told.watch = until
    state = line.train()
    assert state.step == 85
    refused = [each["step"] for each in line.log("quarantine")]
    assert set(refused) == set(range(101, 109))
    before = codes(line)
    truncate_logs(line.run, line.recorder.store.latest().load_state(), from_nothing=False)
    assert [each["step"] for each in line.log("quarantine")] == refused
    assert codes(line) == before
