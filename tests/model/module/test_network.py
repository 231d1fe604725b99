import json

import pytest
import torch

from tests.causal_folder import causal_folder
from tests.for_each import for_each
from tests.module_folder import LANGUAGES, module_folder
from tests.small_run import small_sources
from trimtab.build import build
from trimtab.config.pretrained.fill import read_pretrained_model
from trimtab.config.pretrained.place import find_pretrained
from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import InputError
from trimtab.inference.pretrained import load_pretrained
from trimtab.model.module.classifier import ModuleClassifier


def test_first_weights_of_half_precision_train_in_float32(tmp_path):
    module_folder(tmp_path / "base", "t5", dtype=torch.bfloat16)
    recipe, datasets = small_sources(
        tmp_path,
        model={"kind": "pretrained", "path": "base"},
        **{"data.tokenizer": None, "data.max_tokens": 64},
    )
    parts = build(recipe, datasets, device=torch.device("cpu"))
    taken = parts.model.fill(recipe.model.path)
    assert {each.dtype for each in parts.model.parameters()} == {torch.float32}
    assert "bfloat16 in the files, float32 in training" in str(taken)


def test_settings_that_name_kernels_or_drop_layers_are_not_followed(tmp_path):
    folder = module_folder(tmp_path / "base", "m2m_100")
    path = folder / "config.json"
    said = {
        **json.loads(path.read_text()),
        "attn_implementation": "someone/kernels",
        "encoder_layerdrop": 0.5,
    }
    path.write_text(json.dumps(said))
    changes = {"data.tokenizer": LANGUAGES["m2m_100"], "data.max_tokens": 64}
    recipe, datasets = small_sources(tmp_path, model={"kind": "pretrained", "path": "base"}, **changes)
    network = build(recipe, datasets, device=torch.device("cpu")).model.network
    assert network.get_encoder().layerdrop == network.get_decoder().layerdrop == 0
    assert network.config._attn_implementation in ("sdpa", "eager")


def test_weights_that_are_missing_are_named(tmp_path):
    folder = module_folder(tmp_path / "base", "t5")
    changes = {"data.tokenizer": None, "data.max_tokens": 64}
    recipe, datasets = small_sources(tmp_path, model={"kind": "pretrained", "path": "base"}, **changes)
    model = build(recipe, datasets, device=torch.device("cpu")).model
    with pytest.raises(InputError, match="holds other weights"):
        model.fill(recipe.model.path, sha256="0" * 64)
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="is an adapter"):
        model.fill(recipe.model.path)
    (folder / "adapter_config.json").unlink()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="no weights in safetensors"):
        model.fill(recipe.model.path)


@for_each(
    ("changes", "wanted"),
    [
        ({"vocab_size": 300}, "of another shape: "),
        ({"n_head": "x"}, "transformers cannot read these settings"),
        ({"n_head": 0}, "transformers cannot build a model from these settings"),
        ({"activation_function": "nothing"}, "transformers cannot build a model from these settings"),
        ({"n_layer": [2]}, "n_layer is missing or no size"),
    ],
)
def test_settings_that_are_not_those_of_the_weights_are_refused(changes, wanted, tmp_path):
    folder = causal_folder(tmp_path / next(iter(changes)) / str(next(iter(changes.values()))), "gpt2")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(InputError, match=wanted):
        load_pretrained(str(folder), device="cpu")


def test_labels_that_an_encoder_had_before_are_dropped(tmp_path):
    folder = module_folder(tmp_path / "base", "bert")
    path = folder / "config.json"
    old = {"num_labels": 7, "id2label": {"0": "x"}, "label2id": {"x": 0}, "problem_type": "regression"}
    path.write_text(json.dumps({**json.loads(path.read_text()), **old}))
    found, _ = read_pretrained_model(find_pretrained(str(folder), folder=tmp_path), task="classification")
    config = TransformersModel(path=str(folder), **found.shape)
    model = ModuleClassifier(config, num_labels=3, max_positions=60, pad=0, seed=1)
    model.fill(str(folder))
    assert model.output_layer.out_features == 3
