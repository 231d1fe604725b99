import json

import pytest

from tests.vocabulary.folders import byte_level, fast, gpt2
from trimtab.errors import InputError
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.folder_files import (
    copy_others,
    ids_in_files,
    read_vocabulary,
    write_old_forms,
    write_settings,
)


def test_ids_in_every_file_follow_their_pieces(tmp_path):
    fast(tmp_path / "old", byte_level(), eos_token="<end>", pad_token="<pad>")
    end, pad = 600, 601
    (tmp_path / "old" / "config.json").write_text(json.dumps({"vocab_size": 602, "eos_token_id": end}))
    (tmp_path / "old" / "added_tokens.json").write_text(json.dumps({"<end>": end, "<pad>": pad}))
    config = tmp_path / "old" / "tokenizer_config.json"
    told = json.loads(config.read_text()) | {"added_tokens_decoder": {str(end): {"content": "<end>"}}}
    config.write_text(json.dumps(told))
    (tmp_path / "new").mkdir()
    write_settings(
        tmp_path / "old", tmp_path / "new", VocabularyChange.keeping([*range(500), end, pad]), rows=602
    )
    assert ids_in_files(tmp_path / "new") == {
        "config.json: eos_token_id": 500,
        "tokenizer_config.json: <end>": 500,
        "added_tokens.json: <end>": 500,
        "added_tokens.json: <pad>": 501,
    }
    assert json.loads((tmp_path / "new" / "config.json").read_text())["vocab_size"] == 502


def test_older_forms_of_the_tokenizer_are_written_again(tmp_path):
    folder = gpt2(tmp_path / "old")
    old = read_vocabulary(folder, rows=601)
    kept = sorted(old.with_ancestors([*old.protected, 300, 400]))
    (tmp_path / "new").mkdir()
    new = old.trimmed(kept)
    write_old_forms(folder, tmp_path / "new", new)
    assert (
        json.loads((tmp_path / "new" / "vocab.json").read_text()) == json.loads(new.content)["model"]["vocab"]
    )
    merges = (tmp_path / "new" / "merges.txt").read_text().splitlines()[1:]
    assert len(merges) == len(json.loads(new.content)["model"]["merges"])


def test_other_weights_and_hidden_files_stay_behind(tmp_path):
    for name in (
        "model.safetensors",
        "pytorch_model.bin",
        "onnx/model.onnx",
        ".git/config",
        "1_Pooling/config.json",
    ):
        (tmp_path / "old" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "old" / name).write_text("x")
    left = copy_others(tmp_path / "old", tmp_path / "new", skip=frozenset())
    assert {*left} == {"model.safetensors", "pytorch_model.bin", "onnx/model.onnx"}
    assert [str(each.relative_to(tmp_path / "new")) for each in (tmp_path / "new").rglob("*.*")] == [
        "1_Pooling/config.json"
    ]


def test_a_tokenizer_with_more_pieces_than_rows_is_wrong_input(tmp_path):
    fast(tmp_path / "old", byte_level(), eos_token="<end>")
    with pytest.raises(InputError, match="more pieces than the model has rows"):
        read_vocabulary(tmp_path / "old", rows=600)


def test_a_vocabulary_for_each_side_is_refused(tmp_path):
    (tmp_path / "target_vocab.json").write_text("{}")
    with pytest.raises(InputError, match="source and target have a vocabulary each"):
        read_vocabulary(tmp_path, rows=10)


@pytest.mark.parametrize("content", ["{", "[1]", '{"model": {"type": "BPE"}}', "\ud800"])
def test_a_damaged_tokenizer_is_wrong_input(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(InputError, match=r"tokenizer\.json: cannot be read"):
        read_vocabulary(tmp_path, rows=601)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("added_tokens.json", {"<end>": "x"}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"x": {"content": "<end>"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"600": 3}}),
        ("tokenizer_config.json", {"added_tokens_decoder": [1]}),
    ],
)
def test_ids_that_are_none_are_wrong_input(tmp_path, name, content):
    (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "new").mkdir()
    with pytest.raises(InputError, match=f"{name}: cannot be read"):
        ids_in_files(tmp_path)
    with pytest.raises(InputError, match=f"{name}: cannot be read"):
        write_settings(tmp_path, tmp_path / "new", VocabularyChange.keeping([0]), rows=1)


def test_damaged_files_of_a_marian_model_are_wrong_input(tmp_path):
    (tmp_path / "vocab.json").write_text('{"<unk>": 0}')
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(b"\xff no model")
    with pytest.raises(InputError, match=r"source\.spm: cannot be read"):
        read_vocabulary(tmp_path, rows=1)
    for table in ('{"<unk>": "x"}', '{"<unk>": 1}', '{"<unk>": true}', '{"a": 0}'):
        (tmp_path / "vocab.json").write_text(table)
        with pytest.raises(InputError, match=r"vocab\.json: not a table of pieces"):
            read_vocabulary(tmp_path, rows=1)


def test_a_folder_without_a_tokenizer_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="it has no tokenizer"):
        read_vocabulary(tmp_path, rows=1)
