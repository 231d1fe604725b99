import pytest
import torch

from tests.training.small_line import small_line
from trimtab.metrics.chrf import chrf
from trimtab.tasks.text import sentences as module
from trimtab.tasks.text.sentences import attention_of, sentences_of, unit_of
from trimtab.tasks.text.validation_scores import TranslatedLines


@pytest.fixture
def line(tmp_path):
    return small_line(tmp_path)


def found_of(valid, outputs):
    lines = list(range(len(outputs)))
    return TranslatedLines(
        lines=lines,
        sources=valid.sources[: len(lines)],
        references=valid.references[: len(lines)],
        outputs=outputs,
    )


def test_each_line_has_its_score_and_the_ends_have_their_text(line):
    parts, valid = line.parts, line.parts.datasets.valid["valid"]
    outputs = [*valid.references[:18], "x", "das das", *valid.references[20:24]]
    found = sentences_of(parts, parts.model.eval(), valid, found_of(valid, outputs))
    assert found["lines"] == [*range(1, 25)]
    assert found["words"] == [len(source.split()) for source in valid.sources]
    slow = [
        round(chrf([output], [reference]).value, 1)
        for output, reference in zip(outputs, valid.references, strict=True)
    ]
    assert found["scores"] == slow
    assert [each["line"] for each in found["worst"][:2]] in ([19, 20], [20, 19])
    assert {each["score"] for each in found["best"]} == {100.0}
    assert found["worst"][0]["reference"] == valid.references[found["worst"][0]["line"] - 1]


def test_one_line_is_neither_the_worst_nor_the_best(line):
    parts, valid = line.parts, line.parts.datasets.valid["valid"]
    found = sentences_of(parts, parts.model.eval(), valid, found_of(valid, ["das"]))
    assert (found["worst"], found["best"], len(found["scores"])) == ([], [], 1)


def test_the_attention_of_a_few_pairs_is_kept_as_percent(line):
    parts, valid = line.parts, line.parts.datasets.valid["valid"]
    state = {name: each.clone() for name, each in parts.model.state_dict().items()}
    maps = attention_of(parts, parts.model.eval(), valid)
    assert len(maps) == 3
    for number, each in enumerate(maps):
        assert len(each["source"]) == len(valid.source.row(number))
        assert len(each["target"]) == len(each["percent"]) == len(valid.target.row(number))
        assert (each["source"][-1], each["target"][-1]) == ("end", "end")
        for row in each["percent"]:
            assert len(row) == len(each["source"])
            assert sum(row) == pytest.approx(100, abs=len(row))
    assert all(torch.equal(each, state[name]) for name, each in parts.model.state_dict().items())


def test_a_picture_that_finds_no_memory_ends_no_run(line, monkeypatch):
    def no_memory(*given, **options):
        raise torch.OutOfMemoryError("no memory")

    monkeypatch.setattr(module, "watch_source_attention", no_memory)
    parts = line.parts
    assert attention_of(parts, parts.model.eval(), parts.datasets.valid["valid"]) == []
    assert attention_of(parts, torch.nn.Linear(1, 1), parts.datasets.valid["valid"]) == []


def test_lines_without_spaces_between_words_are_counted_in_characters():
    assert unit_of(["the old boat", "a"]) == "words"
    assert unit_of(["epäjärjestelmällistyttämättömyydellänsäkään on"]) == "characters"
    assert unit_of(["kolme kissaa juoksee metsässä"]) == "words"
    assert unit_of(["大きな舵は水をしっかりと保持します。"]) == "characters"
    assert unit_of([]) == "words"
