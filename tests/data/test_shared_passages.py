import json

import pytest

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.data import shared_passages
from trimtab.data.corpus import open_corpus
from trimtab.data.shared_passages import documents_in_training


def document(number):
    words = ("first", "second", "third")
    return " ".join(f"The {word} ship of fleet {number} leaves at {number * 7 % 60}." for word in words)


TRAIN, VALID = [document(n) for n in range(200)], [document(n) for n in range(1000, 1020)]


def written(path, texts):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    else:
        path.write_text("\n\n".join(texts) + "\n")
    return path.name


@pytest.fixture
def found(tmp_path):
    """What is found in documents for training with a set of others."""

    def look(train, valid, *, ends=("txt", "txt"), most=4096):
        name, held = (written(tmp_path / f"{stem}.{end}", texts) for stem, texts, end in
                      zip(("train", "dev"), (train, valid), ends, strict=True))  # fmt: skip
        options = {"root": tmp_path, "cache": tmp_path / "cache", "passage_bytes": most}
        corpus = open_corpus(TrainCorpus(text=name), **options)
        return list(documents_in_training([corpus], {"dev": open_corpus(ValidFiles(text=held), **options)}))

    return look


def test_documents_of_their_own_are_well(found):
    assert found(TRAIN, VALID) == []


@pytest.mark.parametrize("ends", [("txt", "txt"), ("jsonl", "jsonl"), ("txt", "jsonl"), ("jsonl", "txt")])
def test_documents_that_stand_in_training_are_told_with_their_places(found, ends):
    (finding,) = found([*TRAIN, *VALID[:5]], VALID, ends=ends)
    assert (finding.code, finding.severity) == ("D205", "warning")
    assert "at least 5 of 20 passages of the set dev" in finding.message
    last = 201 if ends[0] == "jsonl" else 401
    assert finding.where.endswith(f"train.{ends[0]}:{last}")
    assert f"dev.{ends[1]}:1 as " in finding.message


def test_a_few_of_many_are_no_fault(found):
    assert found([*TRAIN, *VALID[:2]], VALID) == []


def test_a_long_document_is_found_by_its_passages(found):
    book = " ".join(document(n) for n in range(2000, 2030))
    (finding,) = found([*TRAIN, book], [*VALID, book], most=300)
    assert "passages of the set dev" in finding.message


def test_what_is_short_comes_again_by_chance(found):
    assert found([*TRAIN, "Contents", "Index"], ["Contents", "Index", VALID[0]]) == []


def test_of_a_large_corpus_some_are_read(found, monkeypatch):
    monkeypatch.setattr(shared_passages, "MOST_PASSAGES", 60)
    (finding,) = found([text for text in TRAIN for _ in range(3)], TRAIN[:20])
    assert "D205" in str(finding)
