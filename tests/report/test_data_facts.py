import json

import pytest

from tests.report.folder_of_a_run import write_run
from trimtab.report.data_facts import MOST_CHARACTERS, corpora_of, dropped_words, quarantined, sides_of
from trimtab.report.run_data import open_run


def test_the_ledger_says_what_was_dropped_and_why(tmp_path):
    (corpus,) = corpora_of(open_run(write_run(tmp_path / "my")))
    assert (corpus.name, corpus.seen, corpus.kept, corpus.share) == ("train", 100, 90, 0.9)
    assert list(corpus.dropped) == [("too_long", 10, [3, 5], [])]
    assert dropped_words("too_long") == "too long"


def test_images_that_were_dropped_are_named(tmp_path):
    folder = write_run(tmp_path / "my")
    dropped = {"too small": {"count": 2, "lines": [3, 5], "files": ["a.png", 7]}}
    (folder / "data_ledger.json").write_text(json.dumps({"corpora": [{"dropped": dropped}]}))
    (corpus,) = corpora_of(open_run(folder))
    assert list(corpus.dropped) == [("too small", 2, [3, 5], ["a.png"])]


def test_a_ledger_of_nonsense_is_read_as_far_as_it_goes(tmp_path):
    folder = write_run(tmp_path / "my")
    (folder / "data_ledger.json").write_text(
        '{"corpora": [7, {"dropped": {"a": 3}, "seen": "x", "passed_over": []}]}'
    )
    (corpus,) = corpora_of(open_run(folder))
    assert (corpus.seen, list(corpus.dropped)) == (0, [("a", 0, [], [])])


def test_quarantined_lines_come_newest_first_and_are_cut(tmp_path):
    lines = [{"step": step, "source": "x" * 5000, "loss": loss} for step, loss in ((1, 2.0), (2, "nan"))]
    first, second = quarantined(open_run(write_run(tmp_path / "my", quarantine=lines)))
    assert (first["step"], first["loss"], second["loss"]) == (2, "nan", "2.00")
    assert len(first["source"]) < MOST_CHARACTERS + 5


def test_lengths_and_unknown_tokens_of_the_first_examples_are_read(tmp_path):
    source, target = sides_of(open_run(write_run(tmp_path / "my")))
    assert (source.name, source.unknown_share, source.highest, source.longest) == ("source", 0.03, 9, 30)
    assert (target.unknown_share, target.highest) == (0.0, 1)


@pytest.mark.parametrize("sides", [None, 7, [7], [{"bins": "x", "tokens": -1, "width": 0, "name": 3}]])
def test_facts_of_nonsense_are_read_as_far_as_they_go(tmp_path, sides):
    folder = write_run(tmp_path / "my")
    (folder / "facts.json").write_text(json.dumps({"examples": {"sides": sides}}))
    assert all(
        (each.name, each.width, each.unknown_share) == ("", 1, 0.0) for each in sides_of(open_run(folder))
    )
