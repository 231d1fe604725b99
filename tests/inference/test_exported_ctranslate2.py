import hashlib
import json
import shutil

import pytest

from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference.exported import load_exported

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def exported(trained_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "ct2"
    export_model(f"{trained_run}@last", to="ctranslate2", out=folder)
    return folder


@pytest.fixture
def copy(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "copy")


def changed(folder, name, change):
    """A JSON file of the folder after a change, with its fingerprint in the card made to fit."""
    path = folder / name
    tree = change(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(tree), encoding="utf-8")
    card = folder / "trimtab" / "export.json"
    told = json.loads(card.read_text(encoding="utf-8"))
    for each in told.get("others", []):
        if each["file"] == name:
            each["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
            each["bytes"] = path.stat().st_size
    card.write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.slow
def test_it_is_opened_as_it_was_written(exported):
    assert load_exported(exported, device="cpu").recipe.task == "translation"


@pytest.mark.parametrize("key", ["unk_token", "bos_token", "eos_token", "decoder_start_token"])
@pytest.mark.parametrize("piece", ["zz", "", "the"])
def test_special_symbols_are_those_of_its_tokenizer(copy, key, piece):
    changed(copy, "config.json", lambda tree: {**tree, key: piece})
    with pytest.raises(InputError):
        load_exported(copy, device="cpu")


@pytest.mark.parametrize(
    "change", [lambda tree: [*tree[:3], "x", *tree[4:]], lambda tree: tree[:3] + tree[4:]]
)
def test_pieces_are_those_of_its_tokenizer(copy, change):
    changed(copy, "shared_vocabulary.json", change)
    with pytest.raises(InputError, match="that differ"):
        load_exported(copy, device="cpu")


def test_its_settings_are_among_the_files_that_were_proven(copy):
    card = copy / "trimtab" / "export.json"
    told = json.loads(card.read_text(encoding="utf-8"))
    del told["others"]
    card.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match="other files"):
        load_exported(copy, device="cpu")
