import json

import pytest

from tests.for_each import for_each
from tests.pretrained_folder import pretrained_folder
from tests.text_run import text_recipe
from trimtab.config import load
from trimtab.config.complaint import Complaint
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.pretrained.shapes import OF_FILES
from trimtab.errors import InputError


def loaded(tmp_path, begun=None, **changes):
    given = {"model": {"kind": "pretrained", "path": "../base"}, "data.tokenizer": None, **changes}
    pretrained_folder(tmp_path / "base")
    return load_recipe(text_recipe(tmp_path / "tuned", **given), begun=begun)


def test_sizes_and_tokenizer_are_those_of_the_model(tmp_path):
    found = loaded(tmp_path)
    recipe = resolve_paths(found)
    assert (recipe.model.dim, recipe.model.layers, recipe.model.num_ids) == (32, 2, 270)
    assert recipe.model.path == str(tmp_path / "base")
    assert recipe.data.tokenizer.path == str(tmp_path / "base")
    assert recipe.data.tokenizer.vocabulary_size == 270
    assert found.notes[0] == "the sizes of the model are those of ../base"
    assert recipe.begins_trained


def test_dropout_belongs_to_the_run(tmp_path):
    assert loaded(tmp_path, **{"model.dropout": 0.1}).recipe.model.dropout == 0.1


def test_a_size_that_the_model_does_not_have_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"model\.layers: \.\./base has another value") as error:
        loaded(tmp_path, **{"model.layers": 3})
    assert error.value.problems[0].allowed == "2"


@for_each(
    ("changes", "field"),
    [
        ({"hidden_size": 33}, "hidden_size"),
        ({"num_attention_heads": 3}, "num_key_value_heads"),
        ({"num_key_value_heads": 8}, "num_key_value_heads"),
        ({"head_dim": 7}, "head_dim"),
        ({"num_hidden_layers": 100_000}, "num_hidden_layers"),
        ({"rms_norm_eps": 5}, "rms_norm_eps"),
    ],
)
def test_sizes_that_cannot_be_are_said_of_the_file_that_has_them(changes, field, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    base = pretrained_folder(folder / "base")
    settings = json.loads((base / "config.json").read_text()) | changes
    (base / "config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError) as error:
        load_recipe(
            text_recipe(folder, model={"kind": "pretrained", "path": "base"}, **{"data.tokenizer": None})
        )
    assert [each.what.split(": ")[:2] for each in error.value.problems] == [[f"{base}/config.json", field]]
    assert {each.where for each in error.value.problems} == {""}


def test_what_is_sound_in_a_file_and_contradicts_the_recipe_is_said_of_the_recipe(tmp_path, monkeypatch):
    complaints = [
        Complaint(path=f"model.{key}", what="contradicts", got="", allowed="", fix=f"set {key}")
        for key in OF_FILES
    ]
    monkeypatch.setattr(load, "contradictions", lambda recipe: complaints)
    with pytest.raises(InputError) as error:
        loaded(tmp_path)
    problems = error.value.problems
    assert {each.what for each in problems} == {f"{each.path}: contradicts" for each in complaints}
    assert {each.fix for each in problems} == {each.fix for each in complaints}
    assert all(".yaml:" in each.where for each in problems)


def test_a_size_that_the_recipe_writes_is_said_of_the_recipe(tmp_path):
    given = {"kind": "pretrained", "path": "base", "layers": 0}
    pretrained_folder(tmp_path / "base")
    with pytest.raises(InputError, match=r"model\.layers: "):
        load_recipe(text_recipe(tmp_path, model=given, **{"data.tokenizer": None}))


def test_rows_longer_than_the_model_reads_are_refused(tmp_path):
    with pytest.raises(InputError, match="was not trained on sequences of this length") as error:
        loaded(tmp_path, **{"data.max_tokens": 129})
    assert error.value.problems[0].fix == "set `data.max_tokens: 128` or less"


def test_another_tokenizer_is_refused(tmp_path):
    with pytest.raises(InputError, match="knows the ids of its own tokenizer alone"):
        loaded(tmp_path, **{"data.tokenizer": {"kind": "bytes"}})


def test_pairs_are_refused(tmp_path):
    with pytest.raises(InputError, match="has no separator"):
        loaded(
            tmp_path, **{"data.train": [{"source": "train.txt", "target": "train.txt"}], "data.valid": None}
        )


def test_a_run_that_resumes_reads_its_own_recipe_alone(tmp_path):
    begun = tmp_path / "run"
    begun.mkdir()
    from trimtab.config.render import render_recipe

    (begun / "recipe.yaml").write_text(render_recipe(resolve_paths(loaded(tmp_path))))
    path = tmp_path / "tuned" / "text.yaml"
    (tmp_path / "base").rename(tmp_path / "moved")
    recipe = load_recipe(path, begun=begun).recipe
    assert (recipe.model.dim, recipe.model.path) == (32, str(tmp_path / "base"))
