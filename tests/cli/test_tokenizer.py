import gzip
import json

import pytest

from trimtab.config.tokenizer import SuperBpeTokenizer
from trimtab.data.sentencepiece_model import load_tokenizer
from trimtab.fit.vocabulary import num_ids

LINES = [f"line {number} of a small text about words {number * 7 % 13}\n" for number in range(300)]


def train(call, tmp_path, *more, files=("a.txt",)):
    inputs = [part for name in files for part in ("--input", tmp_path / name)]
    return call("tokenizer", "train", *inputs, "--out", tmp_path / "spm", "--vocabulary-size", 300, *more)


def test_a_tokenizer_is_trained_from_plain_and_packed_files(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("".join(LINES))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("".join(LINES).encode()))
    result = train(call, tmp_path, "--tag", "<ui>", "--model", "bpe", files=("a.txt", "b.txt.gz"))
    assert result.exit_code == 0, result.output
    assert "300 pieces" in result.stdout
    tokenizer = load_tokenizer(tmp_path / "spm")
    assert tokenizer.num_ids == 300
    assert tokenizer.symbols == ("<ui>",)
    assert tokenizer.decode(tokenizer.encode(["line 3 of a text"])) == ["line 3 of a text"]


def test_a_folder_with_something_in_it_is_left_alone(call, tmp_path):
    (tmp_path / "a.txt").write_text("".join(LINES))
    (tmp_path / "spm").mkdir()
    (tmp_path / "spm" / "mine").touch()
    result = train(call, tmp_path)
    assert result.exit_code == 2
    assert "already exists" in result.stderr


def test_text_that_is_not_utf8_is_named_by_its_line(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_bytes("".join(LINES).encode() + b"caf\xe9\n")
    result = train(call, tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path / 'a.txt'}: line 301 is not UTF-8" in result.stderr
    assert "got     byte e9 at byte 3 of the line" in result.stderr


def test_a_missing_file_is_wrong_input(call, tmp_path):
    assert train(call, tmp_path).exit_code == 2


def test_a_vocabulary_too_large_for_the_text_says_what_would_fit(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("".join(LINES))
    result = train(call, tmp_path, "--vocabulary-size", 9000)
    assert result.exit_code == 2
    assert "at most" in result.stderr


@pytest.mark.slow
def test_a_vocabulary_of_superwords_is_trained_and_compared(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("".join(LINES))
    assert train(call, tmp_path).exit_code == 0
    more = ("--model", "superbpe", "--transition-size", 300, "--vocabulary-size", 308, "--tag", "<ui>")
    out = tmp_path / "super"
    result = call("tokenizer", "train", "--input", tmp_path / "a.txt", "--out", out, *more)
    assert result.exit_code == 0, result.output
    assert f"data.tokenizer: {{kind: superbpe, path: {out}}}" in result.stdout
    shown = call("tokenizer", "compare", tmp_path / "spm", out, "--input", tmp_path / "a.txt")
    assert shown.exit_code == 0, shown.output
    assert "300 lines" in shown.stdout
    told = call("tokenizer", "compare", tmp_path / "spm", out, "--input", tmp_path / "a.txt", "--json")
    unigram, superbpe = json.loads(told.stdout)
    assert superbpe["texts"][0]["tokens"] < unigram["texts"][0]["tokens"]
    assert num_ids(SuperBpeTokenizer(path="super"), tmp_path) == 308


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--transition-size", 310), "is for superbpe"),
        (("--model", "superbpe", "--transition-size", 300), "below the vocabulary size"),
        (("--model", "superbpe", "--no-byte-fallback"), "every byte has a piece"),
        (("--model", "byte_level_bpe", "--character-coverage", 1), "every byte has a piece"),
        (("--model", "superbpe", "--vocabulary-size", 200), "at least 300"),
    ],
)
def test_options_of_another_kind_of_model_are_refused(call, tmp_path, more, message):
    (tmp_path / "a.txt").write_text("".join(LINES))
    result = train(call, tmp_path, *more)
    assert result.exit_code == 2
    assert message in result.stderr
