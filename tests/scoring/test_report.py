import json

import pytest

from trimtab.errors import InputError
from trimtab.scoring.measures import Measures
from trimtab.scoring.report import EvaluationReport, Timing, report_on
from trimtab.scoring.scores import bleu, chrf, ter

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
    found = report(measures=Measures(ter=True))
    assert found.more == (ter(TRANSLATIONS, REFERENCES),)
    assert found.to_dict()["ter"] == ter(TRANSLATIONS, REFERENCES).value
    assert "case:lc" in found.to_dict()["ter_signature"]
    assert found.render().splitlines()[3].split()[0] == "TER"
    assert "ter" not in report().to_dict()
