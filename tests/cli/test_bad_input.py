"""Wrong recipes and wrong data through the real commands and the real stages: what is wrong, got, allowed, fix."""

import errno
import json
import os

import pytest

from tests.cli.refusal import has_four_parts, refused
from tests.small_run import small_recipe
from trimtab.errors import DiskFull

# Without a validation set, whose translations would rightly be called collapsed after so few steps.
SHORT = {
    "length": "4 steps",
    "step.schedule.warmup": "1 steps",
    "checkpoint.every": "2 steps",
    "data.valid": None,
}


def test_a_missing_recipe_names_one_that_is_there(call, tmp_path):
    small_recipe(tmp_path)
    message = refused(call("train", tmp_path / "recipee.yaml"), "no such file", "did you mean", "recipe.yaml")
    assert has_four_parts(message)


MISPLACED = {
    "a missing file": (
        {"data.train.0.source": "trian.en"},
        ["data.train.0", "trian.en: no such file", "did you mean train.en", "recipe.yaml:4:"],
    ),
    "a missing folder": (
        {"data.valid.target": "corpora/dev.de"},
        ["data.valid", "dev.de: no such file", "no folder", "recipe.yaml:9:"],
    ),
    "a tokenizer that is not there": (
        {"data.tokenizer": {"path": "spm.model"}},
        ["data.tokenizer.path", "no such file", "recipe.yaml:14:"],
    ),
    "a tokenizer that is none": (
        {"data.tokenizer": {"path": "train.en"}},
        ["data.tokenizer.path", "not a sentencepiece model", "recipe.yaml:14:"],
    ),
    "more pieces than the text has": (
        {"data.tokenizer.vocabulary_size": 5000},
        ["data.tokenizer.vocabulary_size", "got     5000", "allowed at most", "recipe.yaml:14:"],
    ),
    "a step smaller than the longest example": (
        {"step.tokens_per_step": 16, "step.tokens_per_micro_batch": None},
        ["step.tokens_per_step", "got     16", "at least 32", "recipe.yaml:"],
    ),
    "a micro-batch smaller than the longest example": (
        {"step.tokens_per_micro_batch": 16},
        ["step.tokens_per_micro_batch", "got     16", "at least 32", "recipe.yaml:"],
    ),
    "an unknown key": (
        {"step.optimizer.learning_rat": 0.1},
        ["step.optimizer.learning_rat: unknown key", "did you mean `step.optimizer.learning_rate`?", "recipe.yaml:"],
    ),
    "a word of another tool": (
        {"step.gradient_accumulation_steps": 4},
        ["step.gradient_accumulation_steps: unknown key", "did you mean `step.tokens_per_micro_batch`?"],
    ),
    "a value out of range": (
        {"model.dropout": 1.5},
        ["model.dropout: out of range", "got     1.5", "at least 0 and less than 1", "recipe.yaml:"],
    ),
    "a length without its unit": ({"length": 60}, ["length", "the bare number 60", "say the unit"]),
    "no warmup": (
        {"step.schedule.warmup": "0 steps"},
        ["step.schedule.warmup: no warmup", "got     '0 steps'", "write '1 steps'", "recipe.yaml:"],
    ),
    "a length of nothing": ({"length": 0}, ["length", "got     0\n", "more than zero, and its unit"]),
    "a text beside two files": (
        {"data.train.0.text": "train.en"},
        ["data.train.0.text: holds source and target, and other files are given", "got     `target`\n", "recipe.yaml:"],
    ),
    "everything dropped": (
        {"data.max_tokens": 2},
        ["data.train: nothing is left to train on", "all dropped: too_long", "recipe.yaml:3:"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), MISPLACED.values(), ids=MISPLACED)
def test_a_wrong_recipe_is_refused_at_the_place_of_the_key(call, tmp_path, changes, words):
    message = refused(call("train", small_recipe(tmp_path, **changes), "--out", tmp_path / "run"), *words)
    assert has_four_parts(message)
    assert not (tmp_path / "run" / "recipe.yaml").exists()


@pytest.mark.parametrize("side", ["source", "target", "text"])
def test_a_dash_in_place_of_a_file_is_refused(call, tmp_path, side):
    override = f"data.train.0.{side}=-"
    result = call("train", small_recipe(tmp_path), override, "--out", tmp_path / "run")
    assert has_four_parts(refused(result, "data.train.0"))


FILES = {
    "files of unequal length": (
        {"train.de": b"eins\n"},
        {},
        ["have different numbers of lines", "got     200 lines and 1 line", "recipe.yaml:4:"],
    ),
    "an empty corpus": (
        {"train.en": b"", "train.de": b""},
        {},
        ["data.train.0", "train.en: the corpus is empty", "got     0 pairs", "recipe.yaml:4:"],
    ),
    "an empty validation set": (
        {"dev.en": b"", "dev.de": b""},
        {},
        ["data.valid", "dev.en: the corpus is empty", "recipe.yaml:9:"],
    ),
    "nothing but empty lines": (
        {"train.en": b"\n" * 9, "train.de": b"\n" * 9},
        {},
        ["there is no text to train on"],
    ),
    "no such column by number": (
        {"a.tsv": b"one\teins\n"},
        {"pairs": "a.tsv", "source": 1, "target": 3},
        ["data.train.0", "a.tsv has no column 3", "got     2 columns", "allowed 1 to 2", "a.tsv:1"],
    ),
    "no such column by name": (
        {"a.tsv": b"en\tde\none\teins\n"},
        {"pairs": "a.tsv", "source": "en", "target": "dee"},
        ["a.tsv has no column 'dee'", "did you mean de?", "a.tsv:1"],
    ),
    "a line with other columns": (
        {"a.tsv": b"one\teins\ntwo\n"},
        {"pairs": "a.tsv", "source": 1, "target": 2},
        ["a.tsv: line 2 has another number of columns", "got     1 column", "a.tsv:2"],
    ),
    "a field that is not there": (
        {"a.jsonl": b'{"en": "one", "ed": "eins"}\n'},
        {"pairs": "a.jsonl", "source": "en", "target": "de"},
        ["a.jsonl: line 1 has no field 'de'", "allowed both fields", "a.jsonl:1:1"],
    ),
    "a line that is no JSON": (
        {"a.jsonl": b'{"en": "one", "de": "eins"}\n{"en":\n'},
        {"pairs": "a.jsonl", "source": "en", "target": "de"},
        ["a.jsonl: line 2 is not valid JSON", "a.jsonl:2:"],
    ),
    "a line that is not UTF-8": (
        {"train.en": b"one\n" * 199 + b"caf\xe9\n"},
        {},
        ["train.en: line 200 is not UTF-8", "got     byte e9", "train.en:200:4"],
    ),
    "a damaged archive": (
        {"train.en.xz": b"\xfd7zXZ\0broken"},
        {"source": "train.en.xz", "target": "train.de"},
        ["train.en.xz: the file is damaged", "recipe.yaml:4:"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "corpus", "words"), FILES.values(), ids=FILES)
def test_wrong_data_is_refused_with_its_place(call, tmp_path, files, corpus, words):
    recipe = small_recipe(tmp_path, **({"data.train.0": corpus} if corpus else {}))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    message = refused(call("train", recipe, "--out", tmp_path / "run"), *words)
    assert has_four_parts(message)
    assert not (tmp_path / "run" / "recipe.yaml").exists()


def test_all_wrong_keys_are_told_at_once(call, tmp_path):
    result = call("train", small_recipe(tmp_path, seed=-1, **{"model.dropuot": 0.1, "length": "x"}))
    message = refused(result, "seed: out of range", "model.dropuot: unknown key", "length: wrong value")
    assert message.count("error: ") == 3


def test_data_inspect_and_smoke_say_the_same_as_train(call, tmp_path):
    recipe = small_recipe(tmp_path, **{"data.train.0.source": "trian.en"})
    messages = [refused(call(*command)) for command in (["train", recipe, "--out", tmp_path / "run"],
                                                         ["train", recipe, "--smoke"],
                                                         ["data", "inspect", recipe])]  # fmt: skip
    assert len(set(messages)) == 1


@pytest.mark.slow
def test_after_the_mistake_is_mended_the_same_command_works_and_keeps_nothing_of_the_first_try(
    call, tmp_path
):
    wrong = small_recipe(tmp_path, **SHORT, **{"data.tokenizer.vocabulary_size": 64})
    refused(call("train", wrong, "step.precision=fp16_mixed", "--out", tmp_path / "run"), "needs a GPU")
    right = small_recipe(tmp_path, **SHORT)
    result = call("train", right, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    card = json.loads((tmp_path / "run" / "tokenizer" / "tokenizer.json").read_text())
    assert card["num_ids"] == json.loads(right.read_text())["data"]["tokenizer"]["vocabulary_size"] != 64


def test_a_disk_without_room_for_the_index_or_the_tokenizer_is_told_with_75(call, tmp_path, monkeypatch):
    recipe = small_recipe(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("TRIMTAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "fsync", full)
    for command in (["train", recipe, "--out", tmp_path / "run"], ["data", "inspect", recipe]):
        refused(call(*command), "space", "fix", code=DiskFull.exit_code)
    assert not list((tmp_path / "cache").glob("*"))
