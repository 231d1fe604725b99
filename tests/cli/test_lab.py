import json
from pathlib import Path

import pytest

from tests.lab.laboratory import made_by, with_result, written

RECIPE = Path(__file__).parents[2] / "experiments" / "scales" / "tiny.yaml"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scales").mkdir()
    (tmp_path / "scales" / "tiny.yaml").write_text(RECIPE.read_text())
    scores = (50.0, 51.0, 49.5, 50.2, 50.8)
    with_result(written(tmp_path, "first"), plain=scores, other=[each + 3 for each in scores])
    written(tmp_path, "second")
    return tmp_path


def test_experiments_are_listed_with_their_verdicts(call, folder):
    lines = call("lab", "list", "--folder", folder).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["first", "confirmed"], ["second", "not"]]
    found = json.loads(call("lab", "list", "--folder", folder, "--json").stdout)
    assert [each["verdict"] for each in found] == ["confirmed", "not run"]


def test_one_is_shown(call, folder):
    assert "verdict: confirmed" in call("lab", "show", "first", "--folder", folder).stdout
    found = json.loads(call("lab", "show", "first", "--folder", folder, "--json").stdout)
    assert found["comparisons"][0]["seeds"] == [1, 2, 3, 4, 5]
    other = call("lab", "show", "second", "--folder", folder, "--result", folder / "first" / "result.json")
    assert "verdict: confirmed" in other.stdout


@pytest.mark.slow
def test_one_is_run_and_its_result_stored_where_it_is_said(call, folder, monkeypatch):
    made = made_by(monkeypatch)
    options = ("--folder", folder, "--runs", folder / "runs", "--device", "cpu", "--budget", "1.5m")
    done = call("lab", "run", "second", "--seeds", "2", *options)
    assert done.exit_code == 0, done.stderr
    assert len(made) == 6
    assert "verdict: unfinished" in done.stdout
    assert f"stored in {folder / 'runs' / 'results' / 'second.json'}" in done.stdout
    done = call("lab", "run", "all", *options)
    assert "second: no effect at this scale" in done.stdout
    assert (folder / "second" / "result.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "second", "--budget", "ten"), "--budget: not a time"),
        (("run", "second", "--budget", "0s"), "--budget: not a time"),
        (("run", "second", "--budget", "10"), "--budget: not a time"),
        (("run", "second", "--device", "tpu"), "--device: unknown"),
        (("run", "second", "--scale", "tinny"), "no such scale"),
        (("run", "secnd"), "no such experiment"),
        (("show", "secnd"), "no such experiment"),
        (("show", "first", "--result", "no-such-file"), "not a result"),
    ],
)
def test_what_is_wrong_is_said(call, folder, arguments, said):
    done = call("lab", *arguments, "--folder", folder)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
