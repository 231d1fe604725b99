import sys

import pytest

from trimtab.errors import InputError
from trimtab.scoring import measures
from trimtab.scoring.measures import Measures
from trimtab.scoring.scores import Score, ter

LINES, SOURCES, REFERENCES = ["one cat", "two"], ["eins", "zwei"], ["one dog", "two"]


def test_by_default_there_is_nothing_more():
    Measures().check()
    assert Measures().more(LINES, sources=SOURCES, references=REFERENCES) == []


def test_what_is_asked_for_is_measured(monkeypatch):
    asked = []

    def comet_score(model, translations, **options):
        asked.append((model, translations, options))
        return Score(name="COMET", value=0.5, signature="x", digits=4)

    monkeypatch.setattr(measures, "comet_score", comet_score)
    found = Measures(ter=True, comet="m").more(LINES, sources=SOURCES, references=REFERENCES, gpus=1)
    assert found == [ter(LINES, REFERENCES), Score(name="COMET", value=0.5, signature="x", digits=4)]
    assert asked == [("m", LINES, {"sources": SOURCES, "references": REFERENCES, "gpus": 1})]


def test_a_missing_library_is_told_before_the_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(InputError, match="not installed"):
        Measures(comet="m").check()
