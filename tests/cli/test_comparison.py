import json
from types import SimpleNamespace

import pytest

from tests.cli.refusal import has_four_parts, refused


@pytest.fixture
def calls(stand_in):
    seen = []

    def compare(systems, **options):
        seen.append((systems, options))
        texts = SimpleNamespace(side_by_side=lambda: "line\treference\tout.de\n")
        return SimpleNamespace(to_dict=lambda: {"lines": 3}, render=lambda: "a table", texts=texts)

    stand_in("evaluation.comparison", compare=compare)
    return seen


def test_a_run_and_files_are_compared_with_a_baseline(call, calls, tmp_path):
    out = tmp_path / "out.de"
    out.write_text("ein\n")
    result = call("evaluate", "run", "--hypotheses", out, "--against", "old", "--source", "a.en",
                  "--reference", "a.de", "--ter", "--beam", 2, "--tag", "<x>")  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "a table\n")
    ((systems, options),) = calls
    assert systems == ["run", out]
    assert (options["against"], options["beam"], options["tags"]) == ("old", 2, ["<x>"])
    assert options["metrics"].names == ("ter",)
    assert json.loads(call("evaluate", "--hypotheses", out, "--reference", out, "--json").stdout) == {
        "lines": 3
    }


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["run", "--against", "old", "--source", "a"], "--reference"),
        (["--against", "old", "--reference", "a"], "--hypotheses FILE"),
        (["--hypotheses", "nothing.de", "--reference", "a"], "no such file"),
        (["--hypotheses", ".", "--reference", "a"], "name a run"),
        (["run", "--against", "old", "--text", "a"], "--text"),
        (["run", "--hypotheses", "old", "--documents", "a"], "--documents"),
        ([], "neither a MODEL nor --hypotheses"),
        (["run", "--source", "a", "--reference", "b", "--table", "c"], "--table"),
        (["--hypotheses", "pyproject.toml", "--reference", "a", "--table", "pyproject.toml"], "--table"),
        (["--hypotheses", "pyproject.toml", "--reference", "a", "--table", "."], "--table"),
        (["--hypotheses", "pyproject.toml", "--reference", "a", "--beam", "2"], "--beam"),
        (["--hypotheses", "pyproject.toml", "--against", "-", "--reference", "a", "--tag", "<x>"], "--tag"),
        (["pyproject.toml", "--against", "-", "--reference", "a", "--beam", "2"], "--beam"),
    ],
)
def test_what_is_missing_is_named(call, calls, options, word):
    assert has_four_parts(refused(call("evaluate", *options), word))
    assert calls == []


def test_a_table_shows_what_was_compared(call, calls, tmp_path):
    out, table = tmp_path / "out.de", tmp_path / "both.tsv"
    out.write_text("ein\n")
    result = call("evaluate", "--hypotheses", out, "--reference", out, "--table", table)
    assert (result.stdout, table.read_text()) == ("a table\n", "line\treference\tout.de\n")
