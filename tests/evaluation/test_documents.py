import json

import pytest

from trimtab.errors import InputError
from trimtab.evaluation.documents import Waits, report_on_documents

SENTENCES = [["the old ship turns slowly", "the wind never turns"], ["the red boat pulls the sail"]]


def test_scores_are_over_all_sentences_and_waits_are_quantiles():
    report = report_on_documents(
        SENTENCES, SENTENCES, seconds=2.0, waits=Waits([1.0, 3.0, 2.0], [0.5] * 9 + [5.0]), chunks=(4, 1)
    )
    plain = json.loads(json.dumps(report.to_dict()))
    assert (plain["documents"], plain["sentences"], plain["chunks"], plain["misaligned"]) == (2, 3, 4, 1)
    assert plain["bleu"] == plain["chrf"] == 100
    assert plain["first_sentence_seconds_median"] == 2.0
    assert plain["first_sentence_seconds_p90"] == pytest.approx(2.8)
    assert plain["sentence_seconds_median"] == 0.5
    assert (plain["timed_documents"], plain["timed_sentences"], plain["seconds"]) == (3, 10, 2.0)
    assert "translating 3 sentences" in report.render()
    assert "median of 10 sentences" in report.render()
    assert "first sentence" in report.render()
    assert "1 with another number" in report.render()


def test_what_was_not_timed_is_null():
    report = report_on_documents(SENTENCES, SENTENCES, seconds=1.0, waits=Waits([], []))
    assert report.to_dict()["sentence_seconds_p90"] is None
    assert report.to_dict()["timed_sentences"] == 0
    assert "first sentence" not in report.render()


def test_unequal_sets_are_refused():
    with pytest.raises(InputError):
        report_on_documents([["a"]], SENTENCES, seconds=1.0, waits=Waits([], []))
