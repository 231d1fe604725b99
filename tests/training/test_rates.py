from dataclasses import replace

import pytest

from tests.small_run import small_parts, small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.launch import train
from trimtab.training.rates import peak_out_of_range, rate_jumps
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

SHORT = {"evaluate.every": "50 steps", "checkpoint.every": "4 steps", "data.valid": None}
SCHEDULE = {"kind": "linear_warmup", "warmup": "4 steps"}


def peaks(folder, **step):
    changes = {f"step.{key}": value for key, value in step.items()}
    return [(finding.message, finding.fix) for finding in peak_out_of_range(small_parts(folder, **changes))]


def test_a_usual_rate_is_let_pass(tmp_path):
    assert peaks(tmp_path, optimizer={"kind": "adamw", "learning_rate": 5e-4}) == []


def test_another_schedules_rate_under_noam_is_told_with_the_number_to_write(tmp_path):
    noam = {"kind": "noam", "warmup": "50 steps"}
    ((message, fix),) = peaks(tmp_path, schedule=noam, optimizer={"kind": "adamw", "learning_rate": 3e-4})
    assert "the learning rate peaks at 7.5e-06 (at least 1e-05 is usual)" in message  # 3e-4 / sqrt(32 * 50)
    assert "noam makes 7.5e-06 of learning_rate 0.0003" in message
    assert "step.optimizer.learning_rate: 0.028, for a peak of 0.0007" in fix  # 7e-4 * sqrt(32 * 50)
    assert peaks(tmp_path, schedule=noam, optimizer={"kind": "adamw", "learning_rate": 0.028}) == []


def test_a_rate_that_is_far_too_high_is_told_and_one_for_sgd_is_not(tmp_path):
    ((message, _),) = peaks(tmp_path, optimizer={"kind": "stable_adamw", "learning_rate": 2.0})
    assert "peaks at 2 (at most 0.1 is usual): learning_rate is 2" in message
    assert peaks(tmp_path, optimizer={"kind": "sgd", "learning_rate": 2.0}) == []


def test_the_rates_of_roles_are_judged_and_the_weights_are_named(tmp_path):
    def found(rate, **multipliers):
        optimizer = {"kind": "adamw", "learning_rate": rate, "learning_rate_multipliers": multipliers}
        return peaks(tmp_path, optimizer=optimizer)

    assert found(1e-2, hidden=0.01) == []
    assert found(0.2, embedding=0.1, hidden=0.1, vector=0.1) == []
    ((message, fix),) = found(5e-4, hidden=0.01)
    assert "the learning rate of hidden weights peaks at 5e-06 (at least 1e-05 is usual)" in message
    assert "learning_rate is 0.0005, and learning_rate_multipliers say 0.01 times it" in message
    assert "learning_rate: 0.07, for a peak of 0.0007, or another multiplier" in fix
    ((message, fix),) = found(0.2, hidden=0.01)
    assert "the learning rate of embedding and vector weights peaks at 0.2 (at most 0.1 is usual)" in message
    assert fix == "set step.optimizer.learning_rate: 0.0007, for a peak of 0.0007"
    assert len(found(1e-6, hidden=0.01)) == 2


@pytest.mark.parametrize(
    ("step", "before", "jumps"), [(5, 0.0, False), (3, 1e-3, False), (5, 1e-3, True), (5, 7e-3, False)]
)
def test_a_jump_is_far_above_the_last_rate_and_after_the_warmup(tmp_path, step, before, jumps):
    parts = small_parts(tmp_path, **{"step.schedule": SCHEDULE})
    found = list(rate_jumps(parts, TrainState(step=step), {"learning_rate": before}))
    assert [finding.code for finding in found] == (["S203"] if jumps else [])


def test_a_run_without_metrics_has_no_jump(tmp_path):
    assert list(rate_jumps(small_parts(tmp_path), TrainState(), {})) == []


@pytest.mark.slow
def test_a_finished_run_that_is_made_longer_says_that_its_rate_rises_again(tmp_path):
    recipe = small_recipe(tmp_path, length="8 steps", **SHORT, **{"step.schedule": SCHEDULE})
    train(recipe, out=tmp_path / "run")
    longer = train(recipe, out=tmp_path / "run", overrides=["length=16 steps"], resume=True)
    rates = {line["step"]: line["learning_rate"] for line in read_journal(longer.run / "metrics.jsonl")}
    (finding,) = [each for each in longer.findings if each.code == "S203"]
    assert f"step 8 had a learning rate of {rates[8]:.2g}, step 9 has {rates[9]:.2g}" in finding.message
    assert "16 steps" in finding.message
    again = replace(
        longer,
        findings=train(recipe, out=tmp_path / "run", overrides=["length=16 steps"], resume=True).findings,
    )
    assert [each for each in again.findings if each.code == "S203"] == []


@pytest.mark.slow
def test_a_schedule_without_an_end_rises_nowhere(tmp_path):
    schedule = {"kind": "inverse_sqrt", "warmup": "4 steps"}
    recipe = small_recipe(tmp_path, length="8 steps", **SHORT, **{"step.schedule": schedule})
    train(recipe, out=tmp_path / "run")
    longer = train(recipe, out=tmp_path / "run", overrides=["length=10 steps"], resume=True)
    assert [each.code for each in longer.findings] == []
