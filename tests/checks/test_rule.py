from dataclasses import replace

import pytest

from tests.for_each import for_each
from trimtab.checks.catalogue import rules_by_name
from trimtab.checks.edits import RemoveKey
from trimtab.checks.place import Place
from trimtab.checks.rule import MOST_SHOWN
from trimtab.checks.setting import Setting

RULE = rules_by_name()["s104"][0]
SETTING = Setting(key="warmup_steps", value=1000, place=Place("args.json", 4, 5))


def test_a_diagnosis_has_its_texts_filled_and_stands_where_the_setting_does():
    found = RULE.at(SETTING, warmup="1,000", steps="500")
    assert found.finding.message == "warm-up is 1,000 steps, but the run ends after 500"
    assert (found.finding.where, found.key, found.place) == ("args.json:4:5", "warmup_steps", SETTING.place)
    assert (found.finding.severity, found.edits, found.safety) == ("error", (), RULE.fix.safety)


def test_a_condition_may_lower_the_severity_and_edits_travel_along():
    edits = (RemoveKey("warmup_steps"),)
    found = RULE.at(Place("args.json"), severity="note", edits=edits, warmup="1", steps="1")
    assert (found.finding.severity, found.edits, found.key) == ("note", edits, "")


def test_a_field_that_is_not_given_is_a_mistake_of_the_rule():
    with pytest.raises(KeyError, match="steps"):
        RULE.at(SETTING, warmup="1,000")


@for_each("value", ["a\n::error::b", "\x1b]0;title\a", "x" * 2_000_000, "\u2028\ud800" * 300])
def test_what_comes_from_a_file_stands_in_one_short_line(value):
    shown = RULE.at(SETTING, warmup=value, steps="1").finding.message
    assert shown.isprintable()
    assert len(shown) < MOST_SHOWN + 100
    if value.isascii() and len(value) > 100:
        assert "…" in shown
        assert len(shown) < 200
    long_key = replace(SETTING, key=value)
    assert RULE.at(long_key, warmup="1", steps="1").key == value
