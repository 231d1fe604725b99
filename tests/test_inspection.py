import os
import tempfile
from pathlib import Path

import pytest

from trimtab.config.load import parse_recipe
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
