import math

import pytest

from tests.for_each import for_each
from tests.small_run import small_recipe
from tests.training.small_line import Told, small_line
from trimtab.launch import train
from trimtab.training.diverged import FAR_ABOVE, LAST, ended_diverged

UNTRAINED = math.log(100)
OF_HUNDRED_IDS = {"untrained": UNTRAINED, "name": "ln(vocabulary)"}
HUGE = 2 * UNTRAINED
ALONE = {"data.valid": None, "evaluate.every": "900 steps", "checkpoint.every": "900 steps"}
"""Without a validation set, whose loss would tell it too."""


def steps(*losses, **more):
    """Lines of the metrics."""
    return [{"step": number, "loss": loss, **more} for number, loss in enumerate(losses, 1)]


def codes(lines):
    found = ended_diverged(lines, **OF_HUNDRED_IDS)
    return [] if found is None else [found.code]


@for_each(
    ("losses", "told"),
    [
        ((), []),
        ((UNTRAINED,), []),
        ((UNTRAINED, 3.0, 2.0), []),
        ((UNTRAINED, 1.15 * UNTRAINED, 1.15 * UNTRAINED), []),
        ((UNTRAINED, HUGE, HUGE), ["S908"]),
        ((UNTRAINED, "nan", "inf"), ["S908"]),
        (("nan",), ["S908"]),
        (("nan", "nan", "nan", 3.0, 2.0), []),
        ((UNTRAINED, 3.0, HUGE), []),
        ((UNTRAINED, HUGE, "nan", 3.0), ["S908"]),
        ((UNTRAINED, 3.0, 2.0, "nan"), []),
        ((HUGE, HUGE - 1, HUGE - 2), []),
        ((HUGE, HUGE + 0.01, HUGE + 0.02, HUGE + 0.02), []),
        ((HUGE, HUGE + 1, HUGE + 2, HUGE + 1), ["S908"]),
    ],
)
def test_the_middle_of_the_last_losses_may_not_be_far_above_that_of_a_model_that_knows_nothing(losses, told):
    assert codes(steps(*losses)) == told
    assert codes(iter(steps(*losses))) == told


def test_the_bound_is_as_the_page_says():
    for factor, told in ((FAR_ABOVE - 0.01, []), (FAR_ABOVE + 0.01, ["S908"])):
        assert codes(steps(UNTRAINED, *[factor * UNTRAINED] * LAST)) == told


def test_a_step_that_was_not_finite_counts_as_such_whatever_its_loss():
    lines = [*steps(UNTRAINED), *steps(2.0, 2.0, 2.0, refused="not_finite", skipped=True)]
    assert codes(lines) == ["S908"]
    assert "2 (not applied), 2 (not applied), 2 (not applied)" in str(ended_diverged(lines, **OF_HUNDRED_IDS))


@for_each("why", ["overflow", "masked", "loss_spike", "gradient_spike"])
def test_steps_that_say_nothing_about_the_weights_do_not_count(why):
    assert codes([*steps(UNTRAINED, 2.0), *steps("inf", "inf", "inf", refused=why)]) == []
    assert codes(steps("inf", "inf", refused=why)) == []


def test_lines_that_somebody_else_wrote_are_passed_over():
    assert codes([{"step": 1}, {"loss": None}, {"a": 1}, *steps(UNTRAINED, 3.0, 2.0)]) == []


@pytest.mark.quick("4-adamw")
@pytest.mark.parametrize("optimizer", ["adamw", "lion"])
@pytest.mark.parametrize("length", [4, 30])
def test_a_short_run_that_diverges_ends_with_an_error_and_with_it_again(
    own_cache, tmp_path, optimizer, length
):
    changes = {"step.optimizer": {"kind": optimizer, "learning_rate": 10}, "step.schedule.warmup": "1 steps"}
    recipe = small_recipe(tmp_path, **{**ALONE, **changes, "length": f"{length} steps"})
    allowed = "# trimtab: allow S140 in this file because it has to diverge\n"
    recipe.write_text(allowed + recipe.read_text())
    for resume in (False, True):
        result = train(recipe, out=tmp_path / "run", resume=resume)
        assert "S908" in [each.code for each in result.findings]
        assert not result.ok
    lines = (tmp_path / "run" / "findings.jsonl").read_text().splitlines()
    assert sum('"S908"' in line for line in lines) == 1
    # Stopped after its last step, before anybody looked: who continues is told anyway.
    (tmp_path / "run" / "findings.jsonl").unlink()
    told = Told()
    assert not train(recipe, out=tmp_path / "run", resume=True, progress=told).ok
    assert "S908" in [each.code for each in told.findings]
    again = Told()
    train(recipe, out=tmp_path / "run", resume=True, progress=again)
    assert "S908" in [each.code for each in again.findings]


@pytest.mark.quick("3")
@pytest.mark.parametrize("first", [1, 3])
def test_a_run_whose_last_steps_are_not_finite_ends_with_an_error(tmp_path, first):
    line = small_line(tmp_path, **{**ALONE, "length": "5 steps"})
    line.poison(from_step=first, until_step=5)
    line.train()
    assert [each.code for each in line.recorder.findings.current if each.severity == "error"] == ["S908"]


def test_what_a_shorter_part_of_the_run_ended_with_is_over_where_it_goes_on_and_recovers(tmp_path):
    line = small_line(tmp_path, **{**ALONE, "length": "4 steps"})
    line.recorder.findings.current = [ended_diverged(steps(UNTRAINED, "nan", "nan"), **OF_HUNDRED_IDS)]
    line.train()
    assert line.recorder.findings.current == []


@pytest.mark.slow
def test_a_healthy_run_of_few_steps_is_told_nothing(own_cache, tmp_path):
    for length in (1, 2, 30):
        changes = {**ALONE, "length": f"{length} steps", "step.schedule": {"kind": "constant"}}
        recipe = small_recipe(tmp_path / f"{length}", **changes)
        result = train(recipe, out=tmp_path / f"run{length}")
        assert result.ok
        assert result.findings == []
