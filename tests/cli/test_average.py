import json
from pathlib import Path

import pytest

from trimtab.averaging import AverageReport

MEAN = AverageReport(
    Path("mean"), ("run@1", "run@2"), {"valid": {"run@1": 2.0, "run@2": 1.5, "average": 1.25}}
)


@pytest.fixture
def calls(stand_in):
    seen = []

    def average(checkpoints, **options):
        seen.append((checkpoints, options))
        return MEAN

    stand_in("averaging", average=average)
    return seen


def test_it_says_what_was_gained(call, calls, tmp_path):
    result = call("average", "run@1", "run@2", "--out", tmp_path / "mean")
    assert result.exit_code == 0
    assert "+0.2500 nats against the best of them" in result.stdout
    assert calls == [(["run@1", "run@2"], {"out": tmp_path / "mean", "last": None})]


def test_json_has_the_same(call, calls, tmp_path):
    told = json.loads(call("average", "run", "--last", "2", "--out", tmp_path / "mean", "--json").stdout)
    assert told["losses"]["valid"]["average"] == 1.25
    assert calls[0][1]["last"] == 2


@pytest.mark.parametrize("number", ["1", "0", "two", "2.5"])
def test_fewer_than_two_are_no_mean(call, calls, tmp_path, number):
    result = call("average", "run", "--last", number, "--out", tmp_path / "mean")
    assert result.exit_code == 2
    assert "whole numbers from 2 on" in result.stderr
    assert calls == []
