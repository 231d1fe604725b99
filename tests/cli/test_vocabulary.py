import json
from pathlib import Path

import pytest

from tests.vocabulary.test_report import REPORT


@pytest.fixture
def calls(stand_in):
    seen = []

    def called(model, **options):
        seen.append((model, options))
        return REPORT

    stand_in("vocabulary.surgery", trim_vocabulary=called, extend_vocabulary=called)
    return seen


def test_texts_and_sizes_are_handed_on(call, calls, tmp_path):
    options = ["--keep-text", "a.en", "--keep-text", "a.de", "--size", "800", "--min-count", "2"]
    result = call("vocabulary", "trim", "runs/my", *options, "--out", tmp_path / "new")
    assert result.exit_code == 0
    assert "100 -> 140 pieces" in result.stdout
    wanted = {"keep_text": [Path("a.en"), Path("a.de")], "size": 800, "min_count": 2, "side": "both"}
    assert calls == [("runs/my", {"out": tmp_path / "new", **wanted})]


def test_pieces_are_added_and_told_as_json(call, calls, tmp_path):
    options = ["--text", "law.de", "--add", "40", "--init", "mean", "--side", "target", "--json"]
    told = json.loads(call("vocabulary", "extend", "runs/my", *options, "--out", tmp_path / "new").stdout)
    assert told["vocabularies"]["shared"]["added"] == 40
    wanted = {"text": [Path("law.de")], "add": 40, "init": "mean", "side": "target"}
    assert calls == [("runs/my", {"out": tmp_path / "new", **wanted})]


@pytest.mark.parametrize("add", ["0", "many"])
def test_a_wrong_number_of_pieces_is_wrong_input(call, calls, tmp_path, add):
    result = call("vocabulary", "extend", "runs/my", "--text", "a", "--add", add, "--out", tmp_path / "new")
    assert result.exit_code == 2
    assert "--add" in result.stderr
    assert calls == []
