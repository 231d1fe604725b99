from pathlib import Path

import pytest

from tests.lab.laboratory import TEXT, written
from trimtab.errors import InputError
from trimtab.lab.runs import WEIGHTS, runs_of
from trimtab.lab.verdict import AGAIN

RECIPE = Path(__file__).parents[2] / "experiments" / "scales" / "tiny.yaml"


@pytest.fixture
def loaded(tmp_path):
    scales = tmp_path / "scales"
    scales.mkdir()
    (scales / "tiny.yaml").write_text(RECIPE.read_text())
    (scales / "other.yaml").write_text(RECIPE.read_text().replace("dim: 32", "dim: 16"))
    return written(tmp_path, expect="better")


@pytest.mark.slow
def test_each_arm_is_run_with_each_seed_and_the_reference_again_with_other_weights(loaded):
    runs = runs_of(loaded)
    assert [(run.arm, run.seed) for run in runs[:4]] == [
        ("plain", 1),
        ("other", 1),
        ("plain", 2),
        ("other", 2),
    ]
    again = [run for run in runs if run.arm == AGAIN]
    assert [run.overrides for run in again] == [
        {"seed": seed + WEIGHTS, "data.seed": seed} for seed in (1, 2, 3, 4, 5)
    ]
    assert len({run.key for run in runs}) == 15
    assert len(runs_of(loaded, seeds=2)) == 6


@pytest.mark.slow
def test_the_same_recipe_in_two_experiments_is_the_same_run(loaded, tmp_path):
    text = TEXT.replace("  other: {step.optimizer.learning_rate: 1.0e-3}", "  other: {model.dropout: 0.2}")
    beside = written(tmp_path, "beside", text, expect="better")
    ours, theirs = ({run.key: run.arm for run in runs_of(each)} for each in (loaded, beside))
    assert {ours[key] for key in ours.keys() & theirs.keys()} == {"plain", AGAIN}


def test_an_arm_may_start_from_another_scale(tmp_path, loaded):
    text = TEXT.replace("{step.optimizer.learning_rate: 1.0e-3}", "{recipe: other, model.dropout: 0.1}")
    runs = runs_of(written(tmp_path, "else", text, expect="better"), seeds=2)
    assert {run.arm: run.recipe.name for run in runs} == {
        "plain": "tiny.yaml", "other": "other.yaml", AGAIN: "tiny.yaml"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ("{step.optimiser.learning_rate: 1}", "arm 'other'"),
        ("{model.dropout: 3}", "arm 'other'"),
        ("{recipe: othr}", "no such scale"),
    ],
)
def test_an_arm_that_gives_no_recipe_is_refused_before_anything_runs(tmp_path, loaded, arm, said):
    text = TEXT.replace("{step.optimizer.learning_rate: 1.0e-3}", arm)
    wrong = written(tmp_path, "wrong", text, expect="better")
    with pytest.raises(InputError, match=said):
        runs_of(wrong)
