from tests.report.folder_of_a_run import write_run
from trimtab.report.data_facts import MOST_CHARACTERS, corpora_of, dropped_words, quarantined
from trimtab.report.run_data import open_run


def test_the_ledger_says_what_was_dropped_and_why(tmp_path):
    (corpus,) = corpora_of(open_run(write_run(tmp_path / "my")))
    assert (corpus.name, corpus.seen, corpus.kept, corpus.share) == ("train", 100, 90, 0.9)
    assert list(corpus.dropped) == [("too_long", 10, [3, 5])]
    assert dropped_words("too_long") == "too long"


def test_a_ledger_of_nonsense_is_read_as_far_as_it_goes(tmp_path):
    folder = write_run(tmp_path / "my")
    (folder / "data_ledger.json").write_text(
        '{"corpora": [7, {"dropped": {"a": 3}, "seen": "x", "passed_over": []}]}'
    )
    (corpus,) = corpora_of(open_run(folder))
    assert (corpus.seen, list(corpus.dropped)) == (0, [("a", 0, [])])


def test_quarantined_lines_come_newest_first_and_are_cut(tmp_path):
    lines = [{"step": step, "source": "x" * 5000, "loss": loss} for step, loss in ((1, 2.0), (2, "nan"))]
    first, second = quarantined(open_run(write_run(tmp_path / "my", quarantine=lines)))
    assert (first["step"], first["loss"], second["loss"]) == (2, "nan", "2.00")
    assert len(first["source"]) < MOST_CHARACTERS + 5
