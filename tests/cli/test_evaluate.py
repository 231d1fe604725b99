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
    refused(result, "for a language model --text FILE")
    assert calls == []


def test_more_metrics_are_asked_for_by_name(call, calls):
    files = ["--source", "a.en", "--reference", "a.de"]
    assert call("evaluate", "run", *files, "--metric", "ter", "--metric", "chrf").exit_code == 0
    assert calls[0][1]["metrics"].names == ("ter", "chrf")


@pytest.mark.parametrize("name", ["rouge", "perplexity", "comet"])
def test_a_metric_that_is_none_of_translations_is_wrong_input(call, calls, name):
    result = call("evaluate", "run", "--source", "a.en", "--reference", "a.de", "--metric", name)
    refused(result, "bleu, chrf")
    assert calls == []


def test_texts_and_documents_have_no_metric_of_translations(call, calls):
    refused(call("evaluate", "run", "--text", "a.txt", "--metric", "ter"), "--metric")
    refused(call("evaluate", "run", "--text", "a.txt", "--beam", "2"), "--beam")
    refused(call("evaluate", "run", "--text", "a.txt", "--bleu-tokenizer", "zh"), "--bleu-tokenizer")
    refused(call("evaluate", "run", "--documents", "a.jsonl", "--metric", "ter"), "--metric")
    assert calls == []
