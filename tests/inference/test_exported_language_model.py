import json
import shutil

import pytest

from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.export.manifest import MANIFEST, RECIPE
from trimtab.inference.exported import load_exported_text


def test_an_export_is_opened_with_its_tokenizer_and_window(exported_text):
    found = load_exported_text(exported_text)
    assert found.window == 48
    text = "the  boat\nturns"
    assert found.tokenizer.decode(found.tokenizer.ids([text])) == [text]
    assert type(found.model.network).__name__ == "LlamaForCausalLM"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": "onnx"}, "an export for 'onnx'"),
        ({"weights": {"file": "config.json", "sha256": "0"}}, "weights in config.json"),
    ],
)
def test_a_card_that_no_export_of_a_language_model_has_is_refused(exported_text, tmp_path, change, words):
    copy = shutil.copytree(exported_text, tmp_path / "copy")
    (copy / MANIFEST).write_text(json.dumps({**json.loads((copy / MANIFEST).read_text()), **change}))
    with pytest.raises(InputError, match=words):
        load_exported_text(copy)


def test_an_export_that_translates_is_sent_to_translate(exported_run):
    with pytest.raises(InputError, match="trimtab translate"):
        load_exported_text(exported_run)


PAIRS = ["data.train=[{source: a.en, target: a.de}]", "data.valid={source: b.en, target: b.de}"]


def test_an_export_that_learned_pairs_alone_goes_on_from_no_text(exported_text, tmp_path):
    copy = shutil.copytree(exported_text, tmp_path / "copy")
    recipe = load_recipe(copy / RECIPE, overrides=PAIRS).recipe
    (copy / RECIPE).write_text(recipe.model_dump_json(exclude_unset=True))
    with pytest.raises(InputError, match="was trained on pairs only"):
        load_exported_text(copy)
