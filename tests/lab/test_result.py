import json
import math

import pytest

from tests.lab.laboratory import run_of, written
from trimtab.errors import InputError
from trimtab.lab import result
from trimtab.lab.runs import Run


def test_a_result_has_each_seed_the_machine_and_the_text_that_ran(tmp_path):
    loaded = written(tmp_path)
    runs = [
        Run(arm=arm, seed=seed, recipe=tmp_path, overrides={}, key=f"{arm}{seed}")
        for arm in ("plain", "other")
        for seed in (1, 2)
    ]
    records = {"plain1": run_of(50.0), "other1": run_of(1 / 3), "plain2": run_of(math.inf, "failed")}
    made = result.made_result(loaded, runs, records, scale="tiny", machine="CPU, some")
    assert {arm: list(seeds) for arm, seeds in made["arms"].items()} == {"plain": ["1", "2"], "other": ["1"]}
    assert made["arms"]["other"]["1"]["scores"]["prose"]["chrf"] == 0.33333333
    assert made["arms"]["plain"]["2"]["scores"]["prose"]["chrf"] == "inf"
    assert (made["experiment_sha256"], made["hardware"], made["minutes"]) == (loaded.sha256, "CPU, some", 3.0)
    assert made["command"] == "trimtab lab run better"
    other = result.made_result(loaded, runs, records, scale="else", machine="CPU")
    assert other["command"].endswith("--scale else")

    path = tmp_path / "new" / "result.json"
    result.write_result(path, made)
    assert result.read_result(path) == json.loads(path.read_text(), parse_constant=pytest.fail)
    assert [each.name for each in path.parent.iterdir()] == ["result.json"]
    assert result.scores_of(loaded, made) == {"plain": {1: 50.0, 2: 0.0}, "other": {1: 0.33333333}}


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", "{", "\x00", '{"experiment": "x"}', '{"experiment": "x", "arms": [1]}']
)
def test_what_is_no_result_is_refused(tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(InputError, match="not a result"):
        result.read_result(tmp_path / "result.json")
    with pytest.raises(InputError, match="not a result"):
        result.read_result(tmp_path)


def test_numbers_become_plain():
    assert result.plain({1: (math.inf, math.nan, 1 / 3, True, "text", None)}) == {
        "1": ["inf", "nan", 0.33333333, True, "text", None]
    }


def test_versions_and_commit_are_known_or_none(tmp_path, monkeypatch):
    assert result.installed("no-such-package-of-this-name") is None
    assert result.installed("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_COMMIT", "c0ffee")
    assert result.commit() == "c0ffee"
    assert result.hardware("cpu").startswith("CPU, ")
