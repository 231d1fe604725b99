import os
import tempfile
from pathlib import Path

import pytest

from tests.data.small_text import small_tokenizer
from tests.language_run import PAIRS, language_recipe, language_sources
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.errors import InputError
from trimtab.inspection import inspect_recipe, render

RECIPE = """\
data:
  train:
    - {source: a.en, target: a.de}
  valid: {source: v.en, target: v.de}
  tokenizer: {vocabulary_size: 300}
  transforms:
    - {kind: length, unit: words, min: 1, max: 8}
model: {preset: tiny}
length: 1000 steps
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pairs = [(f"word number {n} of {n % 7}", f"Wort Nummer {n} von {n % 7}") for n in range(300)]
    pairs[3] = ("", "leer")
    pairs[5] = ("one " * 20, "eins " * 20)
    for side, index in (("en", 0), ("de", 1)):
        (tmp_path / f"a.{side}").write_text("".join(pair[index] + "\n" for pair in pairs))
        (tmp_path / f"v.{side}").write_text("".join(pair[index] + "\n" for pair in pairs[10:20]))
    return tmp_path


def inspected(folder: Path, *overrides: str, limit: int = 1000):
    return inspect_recipe(parse_recipe(RECIPE, path=folder / "r.yaml", overrides=overrides), limit=limit)


def test_what_would_be_dropped_is_counted(folder):
    report = inspected(folder)
    (train,), (valid,) = report.train, report.valid
    assert (train.pairs, train.kept, valid.pairs) == (300, 298, 10)
    assert sum(reason.count for reason in train.dropped.values()) == 2
    assert report.overlap[0].count == 10
    assert "300 pairs" in render(report)


def test_a_limit_reads_less(folder):
    assert inspected(folder, limit=200).train[0].inspected == 200


def test_nothing_is_left_behind(folder):
    before = set(os.listdir(folder))
    inspected(folder)
    assert set(os.listdir(folder)) - before <= {"cache"}


def test_a_missing_file_is_wrong_input(folder):
    with pytest.raises(InputError, match=r"a\.enn"):
        inspected(folder, "data.train.0.source=a.enn")


@pytest.mark.slow
def test_the_shares_of_the_corpora_are_shown_for_each_stage(folder):
    for side in ("en", "de"):
        lines = (folder / f"a.{side}").read_text().splitlines()[100:200]
        (folder / f"b.{side}").write_text("".join(line + "\n" for line in lines))
    train = "data.train=[{name: a, source: a.en, target: a.de}, {name: b, source: b.en, target: b.de}]"
    report = inspected(folder, train)
    assert report.stages[0].shares == {"a": 0.75, "b": 0.25}
    assert "shares of the 400 examples of an epoch\n  from step 0: a 75.0%, b 25.0%" in render(report)
    evened = inspected(folder, train, "data.temperature=1000").stages[0].shares
    assert evened == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.01)
    staged = inspected(folder, train, "data.stages=[{until: 20 steps, weights: {b: 0}}, {weights: {a: 0}}]")
    assert "  from step 0: a 100.0%, b 0.0%\n  from step 20: a 0.0%, b 100.0%" in render(staged)
    assert "shares of" not in render(inspected(folder))


def test_each_side_is_counted_with_a_vocabulary_of_its_own(folder):
    (folder / "given.model").write_bytes(small_tokenizer().model)
    given, default = "data.tokenizer={path: given.model}", inspected(folder).train[0]
    both = "data.source_tokenizer={path: given.model}"
    shared = inspected(folder, given).train[0]
    assert inspected(folder, given, both, "model.tie_embeddings=none").train[0] == shared
    apart = inspected(folder, both, "model.tie_embeddings=none").train[0]
    assert apart.source == shared.source != default.source
    assert apart.target not in (shared.target, shared.source)


def test_a_corpus_of_both_directions_is_shown_once_and_sets_by_their_names(folder):
    both = (
        "data.train.0.tags=['<2de>']",
        "data.train.0.reverse_tags=['<2en>']",
        "data.train.0.both_directions=true",
    )
    report = inspected(folder, *both)
    (train,) = report.train
    assert train.both_directions
    assert [each.name for each in report.valid] == ["valid"]
    assert f"{train.name} (train, both directions): 300 pairs" in render(report)
    assert [each.name for each in report.checks.corpora] == [train.name, "valid"]


def test_it_is_said_where_nothing_is_left(folder):
    report = inspected(folder, "data.max_tokens=2")
    assert report.nothing_left
    assert render(report).endswith("nothing is left to train on: every pair is dropped")
    assert not inspected(folder).nothing_left


def test_every_line_is_checked_whatever_the_limit(folder):
    report = inspected(folder, limit=50)
    assert report.checks.corpora[0].repeats.lines == 300
    assert report.checks.shared[0].pair == 10
    assert f"valid in {report.train[0].name}: 10 sources (100.00%)" in render(report)


BOTH = {
    "data.train": [PAIRS["data.train"][0], {"text": "train.txt"}],
    "data.valid": {"pairs": PAIRS["data.valid"], "texts": {"text": "dev.txt"}},
    "data.max_tokens": 24,
}


@pytest.mark.parametrize(
    "changes", [{**PAIRS, "data.max_tokens": 24}, BOTH], ids=["pairs", "pairs and texts"]
)
def test_the_pairs_of_a_language_model_are_inspected_as_it_reads_them(tmp_path, changes):
    """What findings about its pairs send to is there, and drops what the run drops."""
    recipe, sources = language_sources(tmp_path, **changes)
    report = inspect_recipe(load_recipe(tmp_path / "recipe.yaml"))
    pairs = sources.corpora[0]
    rows = list(sources.feed.rows([0] * len(pairs), range(len(pairs))))
    (train,) = report.train
    assert (train.pairs, report.one_row) == (200, True)
    assert train.too_long == sum("too_long" in each.dropped for each in rows) > 0
    assert train.kept == sum(bool(each.rows) for each in rows)
    assert [each.name for each in report.valid] == [name for name in recipe.data.valid if name != "texts"]
    assert "longer than 24 tokens together" in render(report)
    assert [each.name for each in report.checks.corpora] == [pairs.name, report.valid[0].name]


def test_texts_alone_are_no_pairs_to_inspect(tmp_path):
    with pytest.raises(InputError, match="trimtab inspects pairs"):
        inspect_recipe(load_recipe(language_recipe(tmp_path)))


def test_every_file_that_is_wrong_is_named_at_once_as_training_does(folder):
    (folder / "a.en").write_bytes(b"\xff\xfe not text\n")
    (folder / "v.de").write_text("one line\n")
    with pytest.raises(InputError) as caught:
        inspected(folder)
    told = [problem.what for problem in caught.value.problems]
    assert len(told) >= 2
    assert any("a.en" in each for each in told)
    assert any("v.de" in each for each in told)


def test_lines_are_those_of_the_file_its_header_included(folder):
    rows = [(f"word number {n}", f"Wort Nummer {n}") for n in range(40)]
    rows[2] = rows[30] = ("", "leer")
    rows[9] = rows[4]
    (folder / "t.tsv").write_text("en\tde\n" + "".join("\t".join(row) + "\n" for row in rows))
    train = "data.train=[{pairs: t.tsv, source: en, target: de}]"
    report = inspected(folder, train, "data.tokenizer.vocabulary_size=286")
    (corpus,) = report.train
    assert [each.line for each in corpus.dropped["empty_source"].examples] == [4, 32]
    assert {group.lines for group in report.checks.corpora[0].repeats.groups} == {(6, 11), (4, 32)}
    assert (folder / "t.tsv").read_text().splitlines()[4 - 1] == "\tleer"


def test_a_source_that_is_its_target_is_a_problem_and_no_figure_among_others(folder):
    (folder / "a.de").write_text((folder / "a.en").read_text())
    report = inspected(folder)
    (problem,) = report.problems
    assert problem.endswith("a: source is target in 100.0% of its pairs: the model learns to copy")
    assert render(report).endswith("problems\n  " + report.problems[0])
    own = inspected(folder, "data.train=[{source: a.en, target: a.en}]")
    assert own.problems == (), "one file for both sides is said by D106"


def test_every_line_that_cannot_be_read_is_named_however_late_it_comes(folder):
    rows = [f"word number {n}\tWort Nummer {n}" for n in range(4000)]
    for line in (2500, 2501, 3700):
        rows[line] += "\tmore"
    (folder / "t.tsv").write_text("".join(row + "\n" for row in rows))
    with pytest.raises(InputError) as caught:
        inspected(folder, "data.train=[{pairs: t.tsv, source: 1, target: 2}]")
    assert [problem.where.rpartition(":")[2] for problem in caught.value.problems] == ["2501", "2502", "3701"]


def test_duplicates_are_dropped_as_training_drops_them_and_units_that_are_no_pairs_counted(folder):
    units = "".join(
        f"<tu><tuv lang='en'><seg>word {n % 200}</seg></tuv><tuv lang='{'de' if n % 5 else 'fr'}'>"
        f"<seg>Wort {n % 200}</seg></tuv></tu>"
        for n in range(300)
    )
    (folder / "m.tmx").write_text(f"<tmx><body>{units}</body></tmx>")
    train = "data.train=[{pairs: m.tmx, source: en, target: de}]"
    report = inspected(
        folder, train, "data.transforms=[{kind: duplicate}]", "data.tokenizer.vocabulary_size=280"
    )
    (corpus,) = report.train
    assert (corpus.pairs, corpus.kept, corpus.dropped["duplicate"].count) == (240, 160, 80)
    assert corpus.passed_over == {"other_language": 60}
    assert "passed over, other_language: 60 units" in render(report)
