import json
import sys

import pytest

from trimtab.errors import InputError
from trimtab.evaluation.report import EvaluationReport, RequestedMetrics, Timing, report_on
from trimtab.metrics import comet
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf
from trimtab.metrics.comet import COMET
from trimtab.metrics.metric import MetricSettings, Score
from trimtab.metrics.ter import TER, ter

SOURCES = ["Ja", "Nein", "Ja", "Das ist ein kleiner Satz."]
TRANSLATIONS = ["yes", "no", "yes", "This is one small sentence."]
REFERENCES = ["yes", "no", "yes", "This is a small sentence."]


def report(**changes) -> EvaluationReport:
    values = {
        "sources": SOURCES,
        "references": REFERENCES,
        "timing": Timing(seconds=2.0, num_tokens=90),
        "loss": 1.25,
    }
    return report_on(TRANSLATIONS, **{**values, **changes})


def test_it_holds_every_measure_of_the_set():
    found = report()
    assert found.lines == 4
    assert found.bleu == bleu(TRANSLATIONS, REFERENCES)
    assert found.chrf == chrf(TRANSLATIONS, REFERENCES)
    assert found.loss == 1.25
    assert found.repeated_4grams == 0.0
    assert found.distinct_outputs == 1.0
    assert (found.seconds, found.tokens_per_second) == (2.0, 45.0)


def test_it_survives_json():
    values = report().to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["bleu_signature"].startswith("nrefs:1|")
    assert set(values) >= {"lines", "bleu", "chrf", "loss", "repeated_4grams", "distinct_outputs", "seconds"}


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), None])
def test_a_loss_that_json_has_no_number_for_becomes_null(loss):
    assert report(loss=loss).to_dict()["loss"] is None


def test_the_table_has_one_measure_a_line_with_units_and_signatures():
    lines = report().render().splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [
        "lines",
        "BLEU",
        "chrF",
        "loss",
        "repeated 4-grams",
        "distinct outputs",
        "seconds",
        "tokens/s",
    ]
    assert "tok:13a" in lines[1]
    assert "nats per target token" in lines[3]
    assert "100.0%" in lines[5]


def test_a_loss_that_was_not_measured_is_a_dash():
    assert " -  nats" in report(loss=None).render().splitlines()[3]


def test_no_time_gives_no_speed():
    assert report(timing=Timing(seconds=0.0, num_tokens=5)).tokens_per_second == 0.0


def test_sets_that_do_not_belong_together_are_refused():
    with pytest.raises(InputError, match="4 translations and 3 references"):
        report(references=REFERENCES[:3])
    with pytest.raises(InputError, match="3 sources and 4 translations"):
        report(sources=SOURCES[:3])


def test_what_was_asked_for_besides_stands_beside_chrf():
    found = report(metrics=RequestedMetrics(names=("ter",)))
    assert found.more == {"ter": ter(TRANSLATIONS, REFERENCES)}
    assert found.to_dict()["ter"] == ter(TRANSLATIONS, REFERENCES).value
    assert "case:lc" in found.to_dict()["ter_signature"]
    assert found.render().splitlines()[3].split()[0] == "TER"
    assert "ter" not in report().to_dict()


def test_by_default_there_is_nothing_more_and_what_is_measured_anyway_is_no_more():
    RequestedMetrics().check()
    assert report().more == {}
    assert RequestedMetrics(names=("comet", "chrf", "ter", "bleu")).more == (TER, COMET)


def test_comet_is_asked_with_its_settings(monkeypatch):
    asked = []

    def comet_score(model, translations, **options):
        asked.append((model, translations, options))
        return Score(name="COMET", value=0.5, signature="x", digits=4)

    monkeypatch.setattr(comet, "comet_score", comet_score)
    metrics = RequestedMetrics(names=("comet", "ter"), settings=MetricSettings(comet_model="m"))
    found = report(metrics=metrics, gpus=1)
    assert list(found.more) == ["ter", "comet"]
    assert found.more["comet"] == Score(name="COMET", value=0.5, signature="x", digits=4)
    assert asked == [("m", TRANSLATIONS, {"sources": SOURCES, "references": REFERENCES, "gpus": 1})]
    assert "COMET" in found.render()
    assert found.to_dict()["comet"] == 0.5
    keys = [*found.to_dict()]
    assert keys[keys.index("chrf_signature") + 1 : keys.index("loss")] == [
        "ter",
        "comet",
        "ter_signature",
        "comet_signature",
    ]


def test_a_missing_library_is_an_error_before_the_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(InputError, match="not installed"):
        RequestedMetrics(names=("comet",), settings=MetricSettings(comet_model="m")).check()
