"""Models of transformers from their folder to a folder again: train, resume, use, export."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

import trimtab
from tests.label_run import label_recipe
from tests.module_folder import LANGUAGES, module_folder, oracle, oracle_tokenizer
from tests.small_run import small_pairs, small_recipe

SHORT = {
    "data.max_tokens": 60,
    "length": "4 steps",
    "evaluate": {"every": "4 steps", "lines": 4},
    "checkpoint": {"every": "2 steps"},
    "step.optimizer.learning_rate": 1e-3,
    "step.schedule": {"kind": "constant"},
    "model": {"kind": "pretrained", "path": "base"},
}


def again_from_the_middle(run: Path, copy: Path, recipe: Path) -> None:
    """The run, its last checkpoint taken away and made again, has the same weights."""
    shutil.copytree(run, copy)
    shutil.rmtree(copy / "checkpoints" / "step-00000004")
    shutil.rmtree(recipe.parent / "base")  # its files are needed once
    trimtab.train(recipe, out=copy, resume=True)
    ours, others = (load_file(each / "checkpoints/step-00000004/model.safetensors") for each in (run, copy))
    assert ours.keys() == others.keys()
    assert all(torch.equal(ours[name], others[name]) for name in ours)


@pytest.mark.parametrize("family", ["marian", "nllb"])
def test_a_translator_is_trained_resumed_and_exported(tmp_path, family):
    module_folder(tmp_path / "base", family)
    path = small_recipe(tmp_path, **SHORT, **{"data.tokenizer": LANGUAGES.get(family)})
    trimtab.train(path, out=tmp_path / "run")
    found = trimtab.export_model(tmp_path / "run", to="hf", out=tmp_path / "hf")
    assert found.gate.passed
    assert found.gate.translated_otherwise == found.gate.read_otherwise == ()
    lines = [line for line, _ in small_pairs(3, seed=9)]
    tokenizer, network = oracle_tokenizer(tmp_path / "hf", family), oracle(tmp_path / "hf")
    with torch.inference_mode():
        written = network.generate(**tokenizer(lines, return_tensors="pt", padding=True), max_length=14)
    assert len(written) == len(lines)
    ours = [trimtab.load_translator(tmp_path / name, beam=2).translate(lines) for name in ("run", "hf")]
    assert ours[0] == ours[1]
    again_from_the_middle(tmp_path / "run", tmp_path / "again", path)


def test_a_classifier_is_trained_resumed_and_exported(tmp_path):
    module_folder(tmp_path / "base", "bert")
    changes = {**SHORT, "model": {**SHORT["model"], "trained_layers": 1}, "data.tokenizer": None}
    path = label_recipe(tmp_path, **changes)
    trimtab.train(path, out=tmp_path / "run")
    weights = load_file(tmp_path / "run/checkpoints/step-00000004/model.safetensors")
    first = load_file(tmp_path / "base/model.safetensors")
    kept = [name for name in first if name.startswith(("embeddings.", "encoder.layer.0."))]
    moved = [
        name for name in first if name.startswith(("encoder.layer.1.", "pooler.")) and "key.bias" not in name
    ]
    assert all(torch.equal(weights[f"network.bert.{name}"], first[name]) for name in kept)
    assert not any(torch.equal(weights[f"network.bert.{name}"], first[name]) for name in moved)
    assert trimtab.export_model(tmp_path / "run", to="hf", out=tmp_path / "hf").gate.passed
    opened = AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf")
    assert opened.config.id2label == dict(enumerate(["garden", "kitchen", "sea"]))
    again_from_the_middle(tmp_path / "run", tmp_path / "again", path)
