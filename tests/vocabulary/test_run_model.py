from types import SimpleNamespace

import pytest
import torch

from tests.module_folder import module_folder
from tests.module_run import SHORT
from tests.small_run import small_recipe
from tests.vocabulary.folders import lines
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.vocabulary import run_model
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.run_model import RunModel


@pytest.fixture
def model(trained_run):
    return RunModel.open(str(trained_run))


def changed(model, folder, ids):
    change = VocabularyChange.keeping(ids)
    vocabulary = model.vocabularies["shared"].trimmed(ids)
    model.write(folder, {"shared": vocabulary}, {"shared": change}, init="mean")
    return model.reopened(folder)


def test_a_run_has_one_vocabulary_and_names_its_symbols(model, trained_run):
    assert [*model.vocabularies] == ["shared"] == [model.writes]
    assert model.label.startswith(f"{trained_run}@")
    assert {*model.special("shared")} <= model.vocabularies["shared"].protected
    assert model.facts().rows["tokenizer, shared"] == model.known_rows("shared")


def test_logits_are_those_after_each_token(model):
    rows = model.vocabularies["shared"].encode(lines(0)[:2])
    found = model.logits({"shared": rows})
    assert [tuple(each.shape) for each in found] == [(len(row), model.known_rows("shared")) for row in rows]


def test_the_result_is_a_run_with_the_rows_of_its_pieces_and_zeros_behind_them(model, tmp_path):
    ids = [
        id
        for id in range(model.known_rows("shared"))
        if id % 3 or id in model.vocabularies["shared"].protected
    ]
    new = changed(model, tmp_path / "new", ids)
    assert new.size().parameters < model.size().parameters or len(ids) % 64 == 0
    before, after = (each._weights["embedding.weight"] for each in (model, new))
    assert torch.equal(after[: len(ids)], before[ids])
    assert not after[len(ids) :].any()
    assert new.recipe.data.tokenizer.vocabulary_size == len(ids)
    assert new.checkpoint.fingerprints["tokenizer"] == new.tokenizers.target.fingerprint


def test_a_run_of_a_model_of_transformers_is_refused_with_what_can_be_done(
    trained_run, tmp_path, monkeypatch
):
    """Its tables have other names than those of our own models."""
    module_folder(tmp_path / "base", "marian")
    recipe = load_recipe(small_recipe(tmp_path, **{**SHORT, "data.tokenizer": None})).recipe
    monkeypatch.setattr(run_model, "load_recipe", lambda path: SimpleNamespace(recipe=recipe))
    with pytest.raises(InputError, match="its vocabulary cannot be changed") as caught:
        RunModel.open(str(trained_run))
    assert "--to hf --out DIR" in caught.value.problems[0].fix


def test_a_folder_that_is_no_run_is_wrong_input(tmp_path):
    with pytest.raises(InputError):
        RunModel.open(str(tmp_path / "none"))


def test_a_run_with_a_weight_that_is_no_number_is_wrong_input(model, tmp_path):
    model._weights["embedding.weight"][0, 0] = float("nan")
    with pytest.raises(InputError, match="its weights are not finite"):
        changed(model, tmp_path / "new", [*range(model.known_rows("shared"))])
