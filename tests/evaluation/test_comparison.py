import io
import lzma
import sys
from functools import partial
from types import SimpleNamespace

import pytest

from tests.small_run import small_pairs, write_pairs
from trimtab.errors import InputError
from trimtab.evaluation import comparison
from trimtab.evaluation.comparison import compare
from trimtab.evaluation.report import RequestedMetrics
from trimtab.evaluation.significance import paired_tests
from trimtab.evaluation.translations import evaluate
from trimtab.metrics import comet

PAIRS = small_pairs(20, seed=5)


@pytest.fixture(autouse=True)
def few_trials(monkeypatch):
    monkeypatch.setattr(comparison, "paired_tests", partial(paired_tests, samples=(40, 100)))


@pytest.fixture
def files(tmp_path):
    write_pairs(tmp_path, "test", PAIRS)
    return {"source": tmp_path / "test.en", "reference": tmp_path / "test.de"}


@pytest.mark.slow
def test_two_models_are_scored_as_each_alone_and_tested(trained_run, files):
    systems = [f"{trained_run}@60", f"{trained_run}@20"]
    found = compare(systems[0], against=systems[1], **files, beam=2)
    for report, name in ((found.systems[0], systems[0]), (found.against, systems[1])):
        alone = evaluate(name, **files, beam=2)
        assert report.scores == {"bleu": alone.bleu, "chrf": alone.chrf}
        assert report.distinct_outputs == alone.distinct_outputs
    assert [test.metric for test in found.systems[0].tests] == ["bleu", "chrf"]
    assert found.against.tests == ()
    told = found.to_dict()
    assert told["against"]["system"] == systems[1]
    assert told["systems"][0]["tests"][0]["sentence"] in found.render()
    assert "± " in found.render()
    assert "|ar:100|seed:" in found.render()


def test_files_of_translations_need_no_model_and_no_source(files, tmp_path):
    whole, packed = tmp_path / "whole.de", tmp_path / "packed.de.xz"
    whole.write_bytes(files["reference"].read_bytes())
    lines = files["reference"].read_text().splitlines()
    packed.write_bytes(lzma.compress("\n".join(["", *lines[1:], ""]).encode()))
    found = compare([whole, packed], reference=files["reference"])
    assert found.systems[0].scores["bleu"].value == pytest.approx(100)
    assert found.systems[1].scores["bleu"].value < 100
    assert found.systems[1].distinct_outputs is None
    assert "tests" not in found.to_dict()["systems"][0]
    assert "nrefs:1" in found.render()
    assert compare(whole, **files).systems[0].distinct_outputs == 1.0


def test_a_run_can_be_tested_against_a_file_that_comes_through_a_pipe(trained_run, files, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(files["reference"].read_bytes())))
    found = compare(f"{trained_run}@60", against="-", **files, beam=1)
    assert found.against.system == "-"
    assert found.systems[0].tests[0].baseline == pytest.approx(100)
    with pytest.raises(InputError, match="several files are standard input"):
        compare("-", against="-", **files)


def test_what_cannot_be_compared_is_wrong_input(trained_run, files, tmp_path):
    short = tmp_path / "short.de"
    short.write_text("ein schiff\n")
    with pytest.raises(InputError, match="different numbers of lines"):
        compare(short, reference=files["reference"])
    with pytest.raises(InputError, match="needs a text to translate"):
        compare(str(trained_run), reference=files["reference"])
    with pytest.raises(InputError, match="no such run"):
        compare("nothing", **files)
    short.write_text("")
    with pytest.raises(InputError, match="is empty"):
        compare(short, reference=short)


def test_comet_has_no_test_and_needs_the_source(files, monkeypatch):
    monkeypatch.setattr(comet, "import_comet", lambda: None)
    metrics, reference = RequestedMetrics(names=("comet",)), files["reference"]
    with pytest.raises(InputError, match="no paired test"):
        compare(reference, against=reference, reference=reference, metrics=metrics)
    with pytest.raises(InputError, match="COMET reads the source"):
        compare(reference, reference=reference, metrics=metrics)


def test_side_by_side_has_a_row_for_each_line_and_its_cells_stay_in_theirs(tmp_path):
    (tmp_path / "s").write_text("a\tb\nc\n")
    (tmp_path / "r").write_text("Haus\nBoot\n")
    (tmp_path / "old").write_text("Maus\t!\nBoot\n")
    (tmp_path / "new").write_text("Haus\n\n")
    found = compare(
        tmp_path / "new", against=tmp_path / "old", source=tmp_path / "s", reference=tmp_path / "r"
    )
    head, *rows = [line.split("\t") for line in found.texts.side_by_side().splitlines()]
    assert head[:3] == ["line", "source", "reference"]
    assert head[3::2] == [str(tmp_path / "old"), str(tmp_path / "new")]
    assert [row[:4] for row in rows] == [["1", "a b", "Haus", "Maus !"], ["2", "c", "Boot", "Boot"]]
    assert [row[4:] for row in rows][1] == ["100.0", "", "0.0"]
    assert 0 < float(rows[0][4]) < float(rows[0][6]) == 100


def test_a_system_that_translates_all_lines_alike_is_named(tmp_path):
    for name, lines in {
        "source": [f"line {n}" for n in range(20)],
        "reference": [f"Zeile {n}" for n in range(20)],
        "same": ["Zeile"] * 20,
        "few": [f"Zeile {n % 3}" for n in range(20)],
        "some": [f"Zeile {n % 4}" for n in range(20)],
    }.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    files = {name: str(tmp_path / name) for name in ("source", "reference")}
    text = compare(
        [str(tmp_path / "few"), str(tmp_path / "some")], against=str(tmp_path / "same"), **files
    ).render()
    told = [line for line in text.splitlines() if "the same few translations" in line]
    assert [line.split()[0].rpartition("/")[2] for line in told] == ["same", "few"]
    assert "(15.0% of the distinct sources" in told[1]
