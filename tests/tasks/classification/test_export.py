import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

import trimtab
from tests.label_run import label_recipe
from tests.module_folder import module_folder
from tests.module_run import SHORT, again_from_the_middle
from trimtab.errors import InputError

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


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
    report = trimtab.export_model(tmp_path / "run", to="hf", out=tmp_path / "hf")
    assert report.gate.passed
    assert report.to_dict()["folder"] == str(tmp_path / "hf")
    assert "as exact as the trainer" in report.render()
    for wrong in ({"source": path}, {"to": "onnx"}, {"out": tmp_path / "hf"}):
        with pytest.raises(InputError):
            trimtab.export_model(tmp_path / "run", **{"to": "hf", "out": tmp_path / "other", **wrong})
    assert not (tmp_path / "other").exists()
    opened = AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf")
    assert opened.config.id2label == dict(enumerate(["garden", "kitchen", "sea"]))
    again_from_the_middle(tmp_path / "run", tmp_path / "again", path)
