import pytest

from trimtab.checks.say.explain import explanation


@pytest.mark.parametrize("text", ["S104", "s104", "warmup-longer-than-run", " S104 "])
def test_a_code_or_a_name_leads_to_its_page(text):
    found = explanation(text)
    assert found.is_found
    assert found.text.startswith("# S104 warmup-longer-than-run\n")


def test_an_alias_leads_to_the_rules_that_have_it():
    assert "# S104 warmup-longer-than-run\n" in explanation("tt401").text


@pytest.mark.parametrize("text", ["E901", "collapsed-outputs"])
def test_what_is_seen_while_running_has_pages_too(text):
    assert explanation(text).text.startswith("# E901 collapsed-outputs\n")


def test_a_symptom_leads_to_causes_rules_and_guards():
    text = explanation("model learns nothing").text
    assert "## loss is flat" in text
    assert "1. nothing is trained" in text
    assert "- S104 warmup-longer-than-run: warm-up is <warmup> steps" in text


def test_a_misspelt_name_is_answered_with_the_nearest():
    found = explanation("warmup-longer-than-runs")
    assert not found.is_found
    assert "did you mean `warmup-longer-than-run`?" in found.text
    assert not explanation("S999").is_found


def test_an_unknown_symptom_is_answered_with_known_ones():
    found = explanation("banana")
    assert not found.is_found
    assert "what people see, nearest first" in found.text
    assert len(found.text.splitlines()) == 7
