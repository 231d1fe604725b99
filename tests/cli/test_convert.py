import json
from pathlib import Path

from tests.checks.conversion.made import OPENNMT
from tests.pretrained_folder import pretrained_folder
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.config.paths import resolve_paths


def written(tmp_path, text=OPENNMT):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return path


def test_the_recipe_goes_to_stdout_and_the_rest_to_stderr(call, tmp_path):
    result = call("convert", written(tmp_path))
    assert result.exit_code == 0
    assert parse_recipe(result.stdout).recipe.model.dim == 512
    assert "src_vocab has no counterpart" in result.stderr
    assert f"{tmp_path / 'config.yaml'}:" in result.stderr


def test_the_recipe_is_written_and_loads(call, tmp_path):
    out = tmp_path / "mine.yaml"
    result = call("convert", written(tmp_path), "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert load_recipe(out).recipe.seed == 3435


def test_a_file_that_exists_is_not_overwritten(call, tmp_path):
    out = tmp_path / "mine.yaml"
    out.write_text("precious")
    result = call("convert", written(tmp_path), "--out", out)
    assert result.exit_code == 2
    assert "already exists" in result.stderr
    assert out.read_text() == "precious"


def test_a_folder_that_is_not_there_is_wrong_input(call, tmp_path):
    result = call("convert", written(tmp_path), "--out", tmp_path / "no" / "mine.yaml")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_a_file_of_nobody_is_wrong_input(call, tmp_path):
    result = call("convert", written(tmp_path, "colour: red\n"))
    assert result.exit_code == 2
    assert "--as KIND" in result.stderr


def test_the_kind_may_be_said(call, tmp_path):
    path = written(tmp_path, "train_steps: 1000\nlearning_rate: 2\n")
    assert call("convert", path, "--as", "opennmt").exit_code == 0


def test_a_draft_that_nothing_can_train_is_written_and_said_with_the_exit_code(call, tmp_path):
    path = written(tmp_path, "base_model: a/b\ndatasets: [{path: c}]\nlearning_rate: 1e-4\nnum_epochs: 1\n")
    out = tmp_path / "mine.yaml"
    result = call("convert", path, "--out", out)
    assert result.exit_code == 1
    assert "the recipe does not load unchanged: model.path: there is no model a/b" in result.stderr
    assert "hf download a/b" in result.stderr
    assert "length: 1 epoch " in out.read_text()


def test_another_task_is_refused(call, tmp_path):
    path = written(tmp_path, "base_model: a/b\ndatasets: [{path: c}]\nlearning_rate: 1e-4\nrl: dpo\n")
    result = call("convert", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no recipe can say that" in result.stderr


def test_paths_are_those_from_the_folder_of_the_recipe_that_is_written(call, tmp_path, monkeypatch):
    for name in ("work/data", "work/configs", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    pretrained_folder(Path("base"))
    talk = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    for name in ("data/a.jsonl", "data/b.jsonl", "configs/beside.jsonl"):
        Path(name).write_text(json.dumps(talk) + "\n")
    sets = "[{path: data/a.jsonl, type: chat_template}, {path: beside.jsonl, type: chat_template}]"
    text = (
        f"base_model: ./base\ndatasets: {sets}\ntest_datasets: [{{path: data/b.jsonl, type: chat_template}}]\n"
        "adapter: lora\nlora_r: 4\nsequence_len: 96\nmicro_batch_size: 2\nnum_epochs: 1\nlearning_rate: 1e-4\n"
    )
    Path("configs/lora.yml").write_text(text)
    for place in ("recipe.yaml", "configs/recipe.yaml", "../elsewhere/recipe.yaml"):
        result = call("convert", "configs/lora.yml", "--out", place)
        assert result.exit_code == 0, result.stderr
        recipe = resolve_paths(load_recipe(place))
        files = [each.text for each in (*recipe.data.train, *recipe.data.valid.values())]
        assert [str(Path(each).resolve().relative_to(tmp_path / "work")) for each in files] == [
            "data/a.jsonl",
            "configs/beside.jsonl",
            "data/b.jsonl",
        ]
        assert Path(recipe.model.path).resolve() == tmp_path / "work" / "base"
    assert "{text: data/a.jsonl," in call("convert", "configs/lora.yml").stdout
