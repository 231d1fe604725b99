import pytest

from trimtab.config.load import load_recipe
from trimtab.config.task_facts import init_recipe


@pytest.mark.slow
def test_the_recipe_is_printed(call):
    result = call("init")
    assert (result.exit_code, result.stdout) == (0, init_recipe())


def test_the_recipe_is_written_and_loads(call, tmp_path):
    path = tmp_path / "mine.yaml"
    result = call("init", "translation", "--out", path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"trimtab train {path}" in result.stderr
    assert load_recipe(path).recipe.task == "translation"


def test_a_file_that_exists_is_not_overwritten(call, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    result = call("init", "--out", path)
    assert result.exit_code == 2
    assert "already exists" in result.stderr
    assert path.read_text() == "precious"


def test_a_folder_that_is_not_there_is_wrong_input(call, tmp_path):
    result = call("init", "--out", tmp_path / "no" / "mine.yaml")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_an_unknown_kind_names_those_that_there_are(call):
    result = call("init", "speech")
    assert result.exit_code == 2
    assert "translation" in result.stderr
