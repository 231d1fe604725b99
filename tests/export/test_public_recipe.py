import hashlib
import json
from pathlib import Path

from tests.small_run import small_recipe
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.export.manifest import MANIFEST, RECIPE
from trimtab.export.public_recipe import public, short


def test_the_card_names_target_step_and_tokenizer(exported_run):
    card = json.loads((exported_run / MANIFEST).read_text())
    assert (card["format"], card["target"], card["step"], card["name"]) == (1, "hf", 60, "small_hf")
    (tokenizer,) = card["tokenizers"]
    assert tokenizer["file"] == "source.spm"
    assert len(tokenizer["sha256"]) == 64
    weights = (exported_run / "model.safetensors").read_bytes()
    assert card["weights"] == {"file": "model.safetensors", "sha256": hashlib.sha256(weights).hexdigest()}


def test_no_file_says_where_anything_lay_on_the_machine_of_the_training(trained_run, exported_run):
    folder = str(trained_run.parent)
    for path in exported_run.rglob("*"):
        if path.is_file():
            assert folder.encode() not in path.read_bytes(), path
    recipe = load_recipe(exported_run / RECIPE).recipe
    assert recipe.data.train[0].source == f"{trained_run.parent.name}/train.en"
    assert recipe.model == load_recipe(trained_run / "recipe.yaml").recipe.model


def test_every_form_of_data_keeps_its_form():
    text = """
data:
  train:
    - {pairs: /a/b/c.tsv, source: 1, target: 2}
    - {documents: /a/b/d.jsonl, source: src, target: tgt}
    - {text: /a/b/e.de}
  tokenizer: {path: /a/b/t.model}
model: {preset: tiny, warm_start: /a/b/run}
length: 1000 steps
"""
    shown = public(parse_recipe(text, path=Path("r.yaml")).recipe)
    train = shown.data.train
    assert (train[0].pairs, train[0].source) == ("b/c.tsv", 1)
    assert (train[1].documents, train[1].target) == ("b/d.jsonl", "tgt")
    assert (train[2].text, train[2].source, train[2].target) == ("b/e.de",) * 3
    assert shown.data.tokenizer.path == "b/t.model"
    assert shown.model.warm_start == "b/run"


def test_a_short_path_is_a_folder_and_a_name():
    assert short("/home/someone/corpora/prose/train.en.xz") == "prose/train.en.xz"
    assert short("train.en") == "train.en"
    assert short("../../x/y.en") == "x/y.en"
    assert short("~/y.en") == "y.en"


def test_a_tokenizer_of_bytes_keeps_no_whole_path(tmp_path):
    given = {"data.tokenizer": {"kind": "superbpe", "path": "/home/someone/secret/tok"}}
    recipe = load_recipe(small_recipe(tmp_path, **given)).recipe
    assert public(recipe).data.tokenizer.path == "secret/tok"
