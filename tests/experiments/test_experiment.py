"""The runner, and every experiment at its smallest size."""

import json
import math
import sys

import pytest

from tests.experiments.open_experiment import EXPERIMENTS, open_experiment
from tests.experiments.test_stored_results import NOT_AS_PREDICTED

QUICKEST = "accumulation_bias"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name == QUICKEST else pytest.param(name, marks=pytest.mark.slow) for name in EXPERIMENTS]
)
def test_an_experiment_runs_at_its_smallest_size_and_its_result_is_plain_json(
    name, monkeypatch, tmp_path, capsys
):
    experiment, runner = open_experiment(name, monkeypatch)
    out = tmp_path / "result.json"
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--quick", "--out", str(out)])
    assert runner.main(experiment) == 0
    result = json.loads(out.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert result["command"].endswith("--quick")
    assert list(result["seeds"]) == [str(experiment.seeds[0])]
    assert result["verdict"] == runner.verdict(experiment, result)
    lasting = [claim for claim in result["verdict"]["claims"] if "after 3 steps" not in claim["text"]]
    refuted = f"{name}.json" in NOT_AS_PREDICTED
    assert refuted or [claim["text"] for claim in lasting if not claim["holds"]] == []
    said = capsys.readouterr().out
    assert all(claim["text"] in said for claim in result["verdict"]["claims"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_named_as_its_file_and_says_what_it_expects(name, monkeypatch):
    experiment, _ = open_experiment(name, monkeypatch)
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert len(experiment.arms) > 1
    assert len(experiment.seeds) >= 3
    assert all(
        [experiment.expect, experiment.rule, experiment.measures, experiment.budget, experiment.supports]
    )


@pytest.mark.slow
def test_a_quick_run_does_not_touch_the_stored_result(monkeypatch):
    experiment, runner = open_experiment("vocabulary_trimming", monkeypatch)
    stored = runner.FOLDER / f"{experiment.name}.json"
    before = stored.read_bytes()
    monkeypatch.setattr(sys, "argv", ["vocabulary_trimming.py", "--quick"])
    assert runner.main(experiment) == 0
    assert stored.read_bytes() == before


def test_numbers_become_plain(monkeypatch):
    _, runner = open_experiment("vocabulary_trimming", monkeypatch)
    assert runner.plain({1: (math.inf, math.nan, 1 / 3, True, "text", None)}) == {
        "1": ["inf", "nan", 0.33333333, True, "text", None]
    }


def test_a_package_that_is_not_there_has_no_version(monkeypatch):
    _, runner = open_experiment("vocabulary_trimming", monkeypatch)
    assert runner.installed("no-such-package-of-this-name") is None
    assert runner.installed("torch").count(".") >= 2
