import json
import shutil

import pytest
import torch

from tests.small_run import small_pairs, small_parts
from trimtab.errors import InputError
from trimtab.inference import load_model

LINES = [source for source, _ in small_pairs(40, seed=3)]
TAGS = {"data.train.0.tags": ["<ui>"], "data.valid.tags": ["<ui>"]}


@pytest.fixture
def copied(trained_run, tmp_path):
    """A copy of the run that a test may damage."""
    return shutil.copytree(trained_run, tmp_path / "run")


def test_a_run_means_its_best_checkpoint_and_others_are_named(trained_run):
    records = [json.loads(line) for line in (trained_run / "evaluations.jsonl").read_text().splitlines()]
    best = max(records, key=lambda record: record["chrf"])["step"]
    for spec, step in (("", best), ("@best", best), ("@last", 60), ("@20", 20), ("@40", 40)):
        loaded = load_model(f"{trained_run}{spec}", device="cpu")
        assert loaded.checkpoint.step == step
        saved = loaded.checkpoint.load_model()
        assert all(torch.equal(saved[name], tensor) for name, tensor in loaded.model.state_dict().items())
        assert not loaded.model.training


def test_an_unknown_checkpoint_is_wrong_input_that_names_those_there_are(trained_run, tmp_path):
    with pytest.raises(InputError, match="no checkpoint '30'") as caught:
        load_model(f"{trained_run}@30")
    for name in ("@last", "@20", "@40", "@60"):
        assert f"{trained_run}{name}" in caught.value.problems[0].allowed
    with pytest.raises(InputError, match="no such run"):
        load_model(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="device"):
        load_model(str(trained_run), device="gpu")


def test_a_damaged_checkpoint_is_wrong_input_and_others_still_load(copied):
    weights = copied / "checkpoints" / "step-00000040" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match=r"step-00000040 is damaged: model\.safetensors"):
        load_model(f"{copied}@40")
    weights.unlink()
    with pytest.raises(InputError, match="missing"):
        load_model(f"{copied}@40")
    assert load_model(f"{copied}@20", device="cpu").checkpoint.step == 20


def test_a_tokenizer_of_another_run_is_wrong_input(copied, tmp_path):
    other = small_parts(tmp_path / "other", **{"data.tokenizer.vocabulary_size": 64})
    shutil.rmtree(copied / "tokenizer")
    shutil.copytree(tmp_path / "other" / "tokenizer", copied / "tokenizer")
    assert other.datasets.tokenizer.num_ids == 64
    with pytest.raises(InputError, match="not the tokenizer that the model was trained with"):
        load_model(str(copied))


def test_a_recipe_of_another_model_is_wrong_input(copied):
    recipe = copied / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("dim: 32", "dim: 64"))
    with pytest.raises(InputError, match="does not describe the model") as caught:
        load_model(str(copied))
    assert "size mismatch" in caught.value.problems[0].got
