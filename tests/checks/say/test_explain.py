from collections import Counter

import pytest

from tests.for_each import for_each
from trimtab.checks.say.explain import explanation
from trimtab.checks.say.pages import all_pages


@for_each("text", ["S104", "s104", "warmup-longer-than-run", " S104 "])
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


def test_a_misspelled_name_is_answered_with_the_nearest():
    found = explanation("warmup-longer-than-runs")
    assert not found.is_found
    assert "did you mean `warmup-longer-than-run`?" in found.text
    assert not explanation("S999").is_found


def test_an_unknown_symptom_is_answered_with_known_ones():
    found = explanation("banana")
    assert not found.is_found
    assert "closest symptoms" in found.text
    assert len(found.text.splitlines()) == 7


@for_each(
    ("text", "codes"),
    [
        ("C", ["C101", "C193"]),
        ("s1", ["S101", "S104"]),
        ("warmup", ["S104"]),
        ("warm-up", ["S104"]),
        ("warmup_steps", ["S104"]),
        ("learning rate", ["S105"]),
        ("learning_rate", ["S105"]),
    ],
)
def test_a_word_or_the_beginning_of_a_code_lists_rules(text, codes):
    found = explanation(text)
    assert found.is_found == bool(codes)
    for code in codes:
        assert f"- {code} " in found.text.partition("# What may be behind")[0]


def test_an_alias_shows_the_page_of_every_rule_that_has_it():
    names = Counter(alias for rule in all_pages() for alias in rule.aliases)
    for alias, _ in names.most_common(5):
        text = explanation(alias.lower()).text
        wanted = [f"# {rule.code} {rule.name}" for rule in all_pages() if alias in rule.aliases]
        assert [line for line in text.splitlines() if line.startswith("# ")] == wanted


def test_a_question_is_repeated_in_one_short_line():
    for text in ("loss is nan " + "very " * 10_000, "x\x1b[31m\n" * 500):
        head = explanation(text).text.partition("\n")[0]
        assert len(head) < 150
        assert "\x1b" not in head


def test_no_rule_is_told_twice_in_one_answer():
    text = explanation("label smoothing").text
    assert text.count("- L101 ") == 1
    assert "What may be behind" not in text


def test_a_recipe_key_has_its_page_with_related_rules():
    found = explanation("step.optimizer.learning_rate")
    assert found.is_found
    assert found.text.startswith("# step.optimizer.learning_rate\n")
    assert "- S202 peak-rate-out-of-range" in found.text
    assert "- S140 rate-beyond-any-use" in found.text
    assert "## Rules" not in explanation("data.train.0.weight").text


def test_a_misspelled_key_is_answered_with_the_nearest():
    found = explanation("step.optimizer.learning_rat")
    assert not found.is_found
    assert "did you mean `step.optimizer.learning_rate`" in found.text


def test_a_word_that_is_also_a_key_names_the_key():
    assert "Recipe keys of that name: `step.optimizer.learning_rate`." in explanation("learning_rate").text
    assert "Recipe keys" not in explanation("loss is NaN").text
