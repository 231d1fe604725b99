import json

import pytest

from tests.pretrained_folder import TEMPLATE, pretrained_folder
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.pretrained_tokenizer import read_pretrained, special_ids
from trimtab.data.stored_tokenizer import adopt_pretrained, load_stored
from trimtab.errors import InputError


def adopted(folder, out, **given):
    return adopt_pretrained(PretrainedTokenizer(path=str(folder), **given), out, key="data.tokenizer")


def test_the_tokenizer_of_a_folder_is_kept_with_its_symbols_and_template(tmp_path):
    found = adopted(pretrained_folder(tmp_path / "base"), tmp_path / "own", vocabulary_size=270)
    assert (found.pad, found.unknown, found.start, found.end, found.num_ids) == (2, 0, 1, 2, 270)
    assert found.template == TEMPLATE
    assert load_stored(tmp_path / "own").fingerprint == found.fingerprint


def test_a_gguf_file_holds_the_same_tokenizer(tmp_path):
    gguf_file = pytest.importorskip("tests.gguf_file", reason="needs gguf").gguf_file
    one = adopted(pretrained_folder(tmp_path / "base"), tmp_path / "one")
    other = adopted(gguf_file(tmp_path / "small.gguf"), tmp_path / "other")
    texts = ["the house, the 12 gardens\n", "don't <|im_end|>"]
    assert other.ids(texts) == one.ids(texts)
    assert (other.start, other.end, other.unknown, other.template) == (1, 2, 0, TEMPLATE)


def test_a_vocabulary_without_a_start_begins_texts_behind_the_end():
    found = special_ids({"end": 7, "unknown": None, "start": None, "pad": 3}, name="x")
    assert (found.start, found.unknown, found.pad, found.end) == (7, 7, 3, 7)


def test_a_tokenizer_that_lacks_something_is_refused(tmp_path):
    base = pretrained_folder(tmp_path / "base")
    with pytest.raises(InputError, match="more pieces than the model has rows"):
        adopted(base, tmp_path / "own", vocabulary_size=100)
    content = json.loads((base / "tokenizer.json").read_text())
    far = {**content, "model": {**content["model"], "vocab": {**content["model"]["vocab"], "far": 10**7}}}
    (base / "tokenizer.json").write_text(json.dumps(far))
    with pytest.raises(InputError, match="ids that the model has no rows for") as error:
        adopted(base, tmp_path / "own", vocabulary_size=270)
    assert "10,000,000 for 'far'" in error.value.problems[0].got
    (base / "tokenizer.json").write_text(json.dumps(content))
    settings = json.loads((base / "tokenizer_config.json").read_text())
    del settings["eos_token"]
    (base / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="names no end symbol"):
        adopted(base, tmp_path / "own")
    (base / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"has no tokenizer\.json"):
        adopted(base, tmp_path / "own")


def test_a_broken_file_is_named_and_the_end_may_be_that_of_the_model(tmp_path):
    folder = pretrained_folder(tmp_path / "base")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "eos_token": None}))
    with pytest.raises(InputError, match="names no end symbol"):
        read_pretrained(PretrainedTokenizer(path=str(folder)), key="k")
    for told, wanted in ((2, 2), ([1, 2], 1)):
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": told}))
        assert read_pretrained(PretrainedTokenizer(path=str(folder)), key="k").end == wanted
    for text in ("", "{", '{"a": 1}', "[]"):
        (folder / "tokenizer.json").write_text(text)
        with pytest.raises(InputError, match="holds no tokenizer"):
            read_pretrained(PretrainedTokenizer(path=str(folder)), key="k")
