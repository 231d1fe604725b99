import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.refusal import refused
from trimtab.evaluation.report import RequestedMetrics
from trimtab.metrics.metric import MetricSettings


@pytest.fixture
def calls(stand_in):
    seen = []

    def evaluate(spec, **options):
        seen.append((spec, options))
        return SimpleNamespace(to_dict=lambda: {"bleu": 30.1, "note": "ö"}, render=lambda: "BLEU 30.1")

    stand_in("evaluation.translations", evaluate=evaluate)
    return seen


def test_the_report_is_printed(call, calls):
    result = call("evaluate", "run", "--source", "a.en", "--reference", "a.de", "--beam", 2, "--tag", "<x>",
                  "--bleu-tokenizer", "char", "--ter", "--comet", "models/wmt")  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "BLEU 30.1\n")
    assert calls == [("run", {"source": Path("a.en"), "reference": Path("a.de"), "beam": 2, "tags": ["<x>"],
                               "metrics": RequestedMetrics(names=("ter", "comet"), settings=MetricSettings(
                                   bleu_tokenizer="char", comet_model="models/wmt"))})]  # fmt: skip


def test_json_is_json(call, calls):
    result = call("evaluate", "run", "--source", "a.en", "--reference", "a.de", "--json")
    assert json.loads(result.stdout) == {"bleu": 30.1, "note": "ö"}


def test_both_files_are_needed(call, calls):
    assert call("evaluate", "run", "--source", "a.en").exit_code == 2
    assert calls == []


def test_without_files_what_a_language_model_takes_is_told_too(call, calls):
    result = call("evaluate", "run")
    refused(result, "of a language model, --text FILE")
    assert calls == []
