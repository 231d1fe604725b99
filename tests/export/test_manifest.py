import json
import shutil

import pytest

from trimtab.errors import InputError
from trimtab.export.manifest import MANIFEST, check_weights, read_manifest, read_tokenizers


@pytest.fixture
def copy(exported_run, tmp_path):
    return shutil.copytree(exported_run, tmp_path / "copy")


def change(folder, **values):
    card = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**card, **values}))


def file(**values):
    return {"file": "source.spm", "sha256": "0" * 64, "symbols": [], **values}


def test_a_card_names_weights_and_tokenizers_that_are_there(exported_run):
    card = read_manifest(exported_run)
    check_weights(exported_run, card, ["model.safetensors"])
    assert read_tokenizers(exported_run, card).shared


@pytest.mark.parametrize(
    "values",
    [
        {"format": "1"},
        {"format": True},
        {"format": 2},
        {"target": ["hf"]},
        {"tokenizers": []},
        {"tokenizers": None},
        {"tokenizers": "abc"},
        {"tokenizers": [{}]},
        {"tokenizers": [file()] * 3},
        {"tokenizers": [file(file=None)]},
        {"tokenizers": [file(file="../../../../../etc/passwd")]},
        {"tokenizers": [file(file="/dev/zero")]},
        {"tokenizers": [file(file="..")]},
        {"tokenizers": [file(file="x" * 1000)]},
        {"tokenizers": [file(sha256=3)]},
        {"tokenizers": [file(symbols="abc")]},
        {"tokenizers": [file(symbols=[1])]},
        {"weights": None},
        {"weights": {"file": "../model.safetensors", "sha256": "0"}},
    ],
    ids=lambda values: str(values)[:60],
)
def test_a_card_of_other_types_or_names_is_wrong_input(copy, values):
    change(copy, **values)
    with pytest.raises(InputError, match="not what this version of trimtab writes"):
        read_manifest(copy)


def test_a_card_without_the_fingerprint_of_the_weights_is_wrong_input(copy):
    card = json.loads((copy / MANIFEST).read_text())
    del card["weights"]
    (copy / MANIFEST).write_text(json.dumps(card))
    with pytest.raises(InputError, match="other keys"):
        read_manifest(copy)


def test_weights_and_tokenizers_of_another_export_are_refused_by_name(copy):
    card = read_manifest(copy)
    with open(copy / "model.safetensors", "r+b") as weights:
        weights.seek(-1, 2)
        weights.write(b"\x01")
    with pytest.raises(InputError, match=r"model\.safetensors: not the weights that were exported"):
        check_weights(copy, card, ["model.safetensors"])
    card["tokenizers"][0]["sha256"] = "0" * 64
    with pytest.raises(InputError, match=r"source\.spm: not the tokenizer that was exported"):
        read_tokenizers(copy, card)


def test_a_symbol_that_is_no_piece_is_wrong_input(copy):
    card = read_manifest(copy)
    card["tokenizers"][0]["symbols"] = ["<2xx>"]
    with pytest.raises(InputError, match="no piece '<2xx>'"):
        read_tokenizers(copy, card)
