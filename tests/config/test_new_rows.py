import json

import pytest

from tests.pretrained_folder import pretrained_folder
from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

FIGURES = {"action": "extend", "vocabularies": {"shared": {"added": 4000}}}
RECIPE = """
task: language_model
data: {train: [{text: a.txt}], max_tokens: 64}
length: 4 steps
model: {kind: pretrained, path: base}
adapter: {kind: lora, rank: 4}
"""
RUN = """
data: {train: [{source: a, target: b}], max_tokens: 64}
length: 4 steps
model: {kind: encoder_decoder, preset: tiny}
"""


def read(folder, text):
    return parse_recipe(text, path=folder / "recipe.yaml")


def test_an_adapter_on_rows_that_nothing_has_trained_is_refused_and_the_offered_fix_works(tmp_path):
    pretrained_folder(tmp_path / "base")
    assert read(tmp_path, RECIPE).recipe.adapter is not None
    (tmp_path / "base" / "vocabulary.json").write_text(json.dumps(FIGURES))
    with pytest.raises(InputError, match="rows that nothing has trained") as caught:
        read(tmp_path, RECIPE)
    assert "4,000 new pieces" in str(caught.value)
    read(tmp_path, RECIPE.replace("rank: 4", "rank: 4, embeddings: train"))
    read(tmp_path, RECIPE.replace("adapter: {kind: lora, rank: 4}\n", ""))


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", json.dumps({**FIGURES, "action": "trim"}), '{"action": "extend", "vocabularies": 3}'],
)
def test_another_file_of_that_name_says_nothing(text, tmp_path):
    pretrained_folder(tmp_path / "base")
    (tmp_path / "base" / "vocabulary.json").write_text(text)
    read(tmp_path, RECIPE)


def test_a_run_that_was_extended_is_known_too(tmp_path):
    run = tmp_path / "extended"
    run.mkdir()
    (run / "recipe.yaml").write_text(RUN)
    (run / "vocabulary.json").write_text(json.dumps(FIGURES))
    text = RUN.replace("{kind: encoder_decoder, preset: tiny}", "{warm_start: extended}")
    read(tmp_path, text)
    with pytest.raises(InputError, match="rows that nothing has trained"):
        read(tmp_path, text + "adapter: {kind: lora}\n")
