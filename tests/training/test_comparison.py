import json

import pytest

from tests.small_run import small_pairs, small_recipe, write_pairs
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.launch import train
from trimtab.training.comparison import reset_best_if_data_changed
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

BEST = {"set": "valid", "metric": "chrf", "value": 1.138, "loss": 4.0, "step": 20, "since": 2}
MARKS = {
    "data.valid.valid": "24 pairs or rows, sha256 ab",
    "recipe.evaluate.lines": "500",
    "recipe.evaluate.beam": "1",
}


@pytest.mark.slow
def test_a_run_that_resumes_names_another_validation_set_and_begins_the_comparison_anew(copied_run, tmp_path):
    run, _ = copied_run
    recipe = small_recipe(tmp_path / "data")
    write_pairs(tmp_path / "data", "dev", small_pairs(30, seed=9))
    result = train(recipe, overrides=["length=70 steps"], out=run, resume=True)
    (found,) = [each["message"] for each in read_journal(run / "findings.jsonl") if each["code"] == "E907"]
    assert "the validation set valid has other lines: 30 pairs or rows, and 24 pairs or rows before" in found
    assert "of step 60, is no longer compared with" in found
    assert (result.state.best["step"], result.state.best["since"]) == (70, 0)


def compared(tmp_path, now, *, best=BEST, **changes):
    """The state and the message of a run that resumes with these fingerprints, and changes of its recipe."""
    recipe = load_recipe(small_recipe(tmp_path, **changes)).recipe
    state, found = reset_best_if_data_changed(
        recipe, TrainState(best=best), before=MARKS, now={**MARKS, **now}
    )
    return state, [each.message for each in found]


def test_nothing_is_said_where_nothing_has_changed(tmp_path):
    assert compared(tmp_path, {"recipe.evaluate.patience": "3"}) == (TrainState(best=BEST), [])


@pytest.mark.parametrize(
    ("now", "changes", "said"),
    [
        (
            {"data.valid.valid": "1,024 pairs or rows, sha256 cd"},
            {},
            "has other lines: 1,024 pairs or rows, and",
        ),
        ({"recipe.evaluate.lines": "3"}, {}, "evaluate.lines was 500"),
        ({"recipe.evaluate.beam": "4"}, {}, "evaluate.beam was 1"),
        ({}, {"evaluate.best": {"metric": "loss"}}, "evaluate.best names another set or metric"),
        ({}, {"step.ema": {"decay": 0.9}, "evaluate.weights": "ema"}, "or other weights"),
    ],
)
def test_whatever_makes_scores_differ_is_named_and_ends_the_comparison(tmp_path, now, changes, said):
    state, (message,) = compared(tmp_path, now, **changes)
    assert said in message
    assert "the best so far, chrf 1.138 of step 20, is no longer compared with" in message
    assert state.best == {}


def test_the_loss_does_not_depend_on_how_lines_are_translated(tmp_path):
    best = {**BEST, "metric": "loss"}
    state, found = compared(
        tmp_path, {"recipe.evaluate.beam": "4"}, best=best, **{"evaluate.best": {"metric": "loss"}}
    )
    assert (state.best, found) == (best, [])


def test_a_set_beside_the_one_that_decides_is_named_and_the_best_stays(tmp_path):
    state, (message,) = compared(tmp_path, {"data.valid.more": "9 pairs or rows, sha256 cd"})
    assert message == "the validation set more is new; the best so far stays chrf 1.138 of step 20"
    assert state.best == BEST


def test_a_checkpoint_of_an_older_version_does_not_know_its_sets(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path)).recipe
    state = TrainState(best=BEST)
    before = {"recipe.evaluate.lines": json.dumps(500), "recipe.evaluate.beam": "1"}
    assert reset_best_if_data_changed(recipe, state, before=before, now=MARKS) == (state, [])
