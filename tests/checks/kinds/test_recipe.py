import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import names_for, told
from trimtab.checks.check import check
from trimtab.checks.kinds.recipe import KIND
from trimtab.config.starter import init_recipe
from trimtab.errors import InputError


def test_the_starter_is_told():
    run = told(KIND, init_recipe())
    assert values(run, "task", "optimizer", "schedule", "steps") == ("translation", "adamw", "linear", 10_000)
    assert run.tool == "trimtab"


def test_a_value_has_the_line_where_it_stands():
    run = told(KIND, init_recipe())
    setting = run.setting("learning_rate")
    assert setting.key == "step.optimizer.learning_rate"
    assert "learning_rate" in init_recipe().splitlines()[setting.place.line - 1]


def test_what_is_wrong_with_a_recipe_is_its_own_errors():
    with pytest.raises(InputError, match="lerning_rate") as error:
        told(KIND, init_recipe().replace("learning_rate: 7", "lerning_rate: 7"))
    assert error.value.problems[0].where.startswith("run.yaml:")


@pytest.mark.parametrize(
    ("more", "told_of"),
    [("", []), ("evaluate: {every: 500 steps}\n", ["E104"]), ("evaluate: {every: 30 steps}\n", [])],
)
def test_a_short_run_is_told_of_an_evaluation_that_never_comes_only_where_it_is_written(
    tmp_path, more, told_of
):
    path = tmp_path / "run.yaml"
    path.write_text(
        "data: {train: [{source: a, target: b}], valid: {dev: {source: c, target: d}}}\n"
        f"model: {{preset: tiny}}\nlength: 300 steps\n{more}"
    )
    assert [each.finding.code for each in check(path).diagnoses] == told_of


def test_files_of_others_are_not_taken_for_recipes():
    assert names_for("data: {train: {path_src: a}}\ntraining: {}\nsrc_vocab: v\n") == ["eole"]
    assert "recipe" not in names_for("model: {dim: 8}\nlength: 3\n")
