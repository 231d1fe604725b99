import json
import shutil

import pytest

from trimtab.errors import InputError
from trimtab.export.manifest import MANIFEST, RECIPE
from trimtab.export.onnx.engine import OnnxModel
from trimtab.inference import load_translator, open_model


@pytest.fixture
def copy(onnx_run, tmp_path):
    return shutil.copytree(onnx_run, tmp_path / "copy")


def with_card(folder, change):
    card = json.loads((folder / MANIFEST).read_text())
    change(card)
    (folder / MANIFEST).write_text(json.dumps(card))


def test_the_engine_is_that_of_the_card(onnx_run):
    assert isinstance(open_model(str(onnx_run)).engine, OnnxModel)


@pytest.mark.slow
def test_runs_and_exports_of_both_kinds_translate_together(trained_run, exported_run, onnx_run):
    lines = ["the small ship turns", "old boat never pulls"]
    alone = load_translator(f"{trained_run}@last", device="cpu").translate(lines)
    specs = [f"{trained_run}@last", str(exported_run), str(onnx_run)]
    assert load_translator(specs, device="cpu").translate(lines) == alone


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.pop("others"),
        lambda card: card["others"].pop(),
        lambda card: card["others"].reverse(),
        lambda card: card["others"][0].update(file="source.spm"),
        lambda card: card["others"].append(dict(card["tokenizers"][0])),
        lambda card: card.update(weights=dict(card["others"][0])),
        lambda card: card.update(others={}),
    ],
)
def test_a_card_that_names_other_files_is_wrong_input(copy, change):
    with_card(copy, change)
    with pytest.raises(InputError, match="not what this version of trimtab writes"):
        open_model(str(copy))


@pytest.mark.parametrize("name", ["../encoder.onnx", "/etc/passwd", "a/../encoder.onnx", "..", ""])
def test_names_that_leave_the_folder_are_wrong_input(copy, name):
    with_card(copy, lambda card: card["others"][0].update(file=name))
    with pytest.raises(InputError):
        open_model(str(copy))


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx", "model.onnx.data", "onnx.json"])
def test_a_file_that_was_changed_since_the_proof_is_wrong_input(copy, name):
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[:-2] + b" " + content[-1:])
    with pytest.raises(InputError, match="not the weights that were exported"):
        open_model(str(copy))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_tokens: 32", "max_tokens: 70", "more than the model has positions for"),
        ("decoder_layers: 1", "decoder_layers: 2", "layers 1"),
        ("heads: 2", "heads: 4", "kv_heads 2"),
    ],
)
def test_a_recipe_of_another_model_is_wrong_input(copy, old, new, message):
    recipe = (copy / RECIPE).read_text()
    assert old in recipe
    (copy / RECIPE).write_text(recipe.replace(old, new))
    with pytest.raises(InputError, match=message):
        open_model(str(copy))
