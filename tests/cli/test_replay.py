import json
from pathlib import Path

import pytest

from tests.cli.refusal import has_four_parts, refused
from tests.replaying.test_evidence import evidence
from tests.replaying.test_report import report


@pytest.fixture
def calls(stand_in):
    seen = []

    def replay(run, **options):
        seen.append((run, {key: value for key, value in options.items() if key != "progress"}))
        return report(evidence(6.0, 6.0))

    stand_in("replaying.replay", replay=replay)
    return seen


def test_it_says_what_is_at_fault(call, calls):
    result = call("replay", "run", "--step", 71)
    assert result.exit_code == 0, result.output
    assert "the data is at fault" in result.stdout
    assert "train line 17" in result.stdout
    assert calls == [(Path("run"), {"step": 71, "device": None})]


def test_json_has_the_same(call, calls):
    told = json.loads(call("replay", "run", "--step", "71", "--device", "cpu", "--json").stdout)
    assert (told["fault"], told["step"], told["examples"][0]["line"]) == ("data", 71, 17)
    assert calls == [(Path("run"), {"step": 71, "device": "cpu"})]


@pytest.mark.parametrize("step", ["0", "-1", "one", "1.5", "nan"])
def test_what_is_no_step_is_refused(call, calls, step):
    message = refused(call("replay", "run", "--step", step), "--step", "whole numbers from 1 on")
    assert has_four_parts(message)
    assert calls == []


def test_without_a_step_nothing_is_replayed(call, calls):
    result = call("replay", "run")
    assert result.exit_code == 2
    assert "--step" in result.stderr
    assert calls == []


def test_a_real_run_is_replayed_and_hostile_input_is_refused(call, trained_run, tmp_path):
    result = call("replay", trained_run, "--step", 21, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["fault"], told["exact"], told["started_from"]) == ("no_spike", True, 20)
    assert has_four_parts(
        refused(call("replay", trained_run, "--step", 10**12), "there is no step", "1 to 60")
    )
    assert has_four_parts(refused(call("replay", tmp_path, "--step", 1), "is not a run", "no recipe.yaml"))
    refused(call("replay", tmp_path / "rum", "--step", 1), "no such run")
    refused(call("replay", trained_run / "recipe.yaml", "--step", 1), "is not a run", "a file")
    refused(call("replay", trained_run, "--step", 1, "--device", "tpu"), "device")
