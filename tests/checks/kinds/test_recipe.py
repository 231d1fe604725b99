from codecs import BOM_UTF8

import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import names_for, told
from trimtab.checks.check import check
from trimtab.checks.kinds.recipe import KIND
from trimtab.config.load import MAX_BYTES, load_recipe
from trimtab.config.read_yaml import read_yaml
from trimtab.config.task_facts import init_recipe
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


REST = "model: {preset: tiny}\nlength: 300 steps\n"
ONE = f"data: {{train: [{{source: a, target: b}}]}}\n{REST}"
MANY = f"data: {{train: [{', '.join(f'{{source: a{i}, target: b}}' for i in range(200))}]}}\n{REST}"
OVER_AND_OVER = f"data: {{train: [&one {{source: a, target: b}}{', *one' * 199}]}}\n{REST}"
VALUES = 606
"""Of the last two: the root, data, train, model, preset, length, and 200 corpora with two values each."""


def told_by_both(path):
    """What `check` and `train` say that is wrong with a recipe."""
    try:
        load_recipe(path)
        trained = []
    except InputError as error:
        trained = [problem.what for problem in error.problems]
    return [problem.what for problem in check(path).problems], trained


@pytest.mark.quick("0-", "1-")
@pytest.mark.parametrize("begin", [b"", BOM_UTF8])
@pytest.mark.parametrize("over", [0, 1, 200_000])
def test_a_recipe_has_too_many_bytes_for_check_where_it_has_for_train(tmp_path, begin, over):
    path = tmp_path / "run.yaml"
    comment = b"# " + "é".encode() * ((MAX_BYTES + over - len(ONE) - 2) // 2)
    recipe = ONE.encode() + comment
    path.write_bytes(begin + recipe + b"#" * (MAX_BYTES + over - len(recipe)))
    checked, trained = told_by_both(path)
    assert checked == trained == ([f"{path}: too large for a recipe"] if over else [])


@pytest.mark.parametrize("text", [MANY, OVER_AND_OVER])
@pytest.mark.parametrize("over", [0, 1])
def test_a_recipe_has_too_many_values_for_check_where_it_has_for_train(monkeypatch, tmp_path, text, over):
    for reader in ("config.read_yaml", "checks.read.compose", "checks.read.plant"):
        monkeypatch.setattr(f"trimtab.{reader}.MAX_VALUES", VALUES - over)
    path = tmp_path / "run.yaml"
    path.write_text(text)
    checked, trained = told_by_both(path)
    assert checked == trained
    assert (checked == ["too many values"]) == bool(over)


@pytest.mark.slow
def test_a_recipe_has_too_long_paths_for_check_where_it_has_for_train(monkeypatch, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(MANY)
    characters = sum(map(len, read_yaml(MANY, name="run.yaml").positions))
    for over in (0, 1):
        for reader in ("config.read_yaml", "checks.read.plant"):
            monkeypatch.setattr(f"trimtab.{reader}.LONGEST_PATHS", characters - over)
        checked, trained = told_by_both(path)
        assert checked == trained == ["too many values"] * over


def test_as_many_mistakes_are_told_by_check_as_by_train(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(ONE + "".join(f"a{i}: 1\na{i}: 2\n" for i in range(50)))
    checked, trained = told_by_both(path)
    assert checked == trained
    assert len(checked) == 50
