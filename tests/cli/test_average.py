import json
from pathlib import Path

import pytest

from trimtab.averaging.report import AverageReport
from trimtab.metrics.catalogue import METRICS

MEAN = AverageReport(
    Path("mean"), ("run@1", "run@2"), {"valid": {"run@1": 2.0, "run@2": 1.5, "average": 1.25}}
)
PLAIN = {"last": None, "ema": False, "metric": None, "across_starts": ""}


@pytest.fixture
def calls(stand_in):
    seen = []

    def called(checkpoints, **options):
        seen.append((checkpoints, options))
        return MEAN

    stand_in("averaging.average", average=called)
    stand_in("averaging.soup", greedy_soup=called)
    return seen


def test_it_says_what_was_gained(call, calls, tmp_path):
    result = call("average", "run@1", "run@2", "--out", tmp_path / "mean")
    assert result.exit_code == 0
    assert "+0.2500 nats against the best of them" in result.stdout
    assert calls == [(["run@1", "run@2"], {"out": tmp_path / "mean", **PLAIN})]


def test_json_has_the_same(call, calls, tmp_path):
    told = json.loads(call("average", "run", "--last", "2", "--out", tmp_path / "mean", "--json").stdout)
    assert told["losses"]["valid"]["average"] == 1.25
    assert calls[0][1]["last"] == 2


def test_a_moving_average_a_measure_and_a_reason_are_handed_on(call, calls, tmp_path):
    options = ["--ema", "--metric", "bleu", "--across-starts", "one seed"]
    assert call("average", "run", *options, "--out", tmp_path / "mean").exit_code == 0
    wanted = {"last": None, "ema": True, "metric": "bleu", "across_starts": "one seed"}
    assert calls == [(["run"], {"out": tmp_path / "mean", **wanted})]


@pytest.mark.parametrize("metric", ["perplexity", "byte_perplexity", "bits_per_byte"])
def test_a_measure_of_language_models_is_handed_on(call, calls, tmp_path, metric):
    assert call("average", "a", "b", "--metric", metric, "--out", tmp_path / "mean").exit_code == 0
    assert calls[0][1]["metric"] == metric


def test_a_soup_is_cooked_of_what_is_named(call, calls, tmp_path):
    assert call("average", "a", "b", "--soup", "--ema", "--out", tmp_path / "soup").exit_code == 0
    wanted = {"last": None, "weights": "ema", "metric": None, "across_starts": ""}
    assert calls == [(["a", "b"], {"out": tmp_path / "soup", **wanted})]


def test_an_unknown_measure_is_wrong_input(call, calls, tmp_path):
    result = call("average", "run", "--metric", "rouge", "--out", tmp_path / "mean")
    assert result.exit_code == 2
    assert ", ".join(metric.name for metric in METRICS) in result.stderr
    assert calls == []


@pytest.mark.parametrize("number", ["1", "0", "two", "2.5"])
def test_fewer_than_two_are_no_mean(call, calls, tmp_path, number):
    result = call("average", "run", "--last", number, "--out", tmp_path / "mean")
    assert result.exit_code == 2
    assert "whole numbers from 2 on" in result.stderr
    assert calls == []
