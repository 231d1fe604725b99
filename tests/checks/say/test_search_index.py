from trimtab.checks.say import search_index as index
from trimtab.checks.say.causes import SYMPTOMS
from trimtab.checks.say.pages import all_pages
from trimtab.checks.say.ranking import Page, page_text
from trimtab.checks.say.words import words_of
from trimtab.run_findings.catalog import ALL


def test_the_index_is_made_from_the_rules():
    assert index.FILE.read_text(encoding="utf-8") == index.render_index(), "run `python tools/write_pages.py`"


def test_every_rule_and_every_symptom_is_in_it():
    assert [rule.code for rule in index.by_code()] == [rule.code for rule in all_pages()]
    causes = sum(1 + len(symptom.causes) for symptom in SYMPTOMS)
    assert len(index.search_index().texts) == causes + len(all_pages()) + len(ALL)


def test_a_page_has_the_words_of_its_phrases_with_what_they_deny():
    phrases, body = ("loss does not fall", "learning rate has no effect"), "without a warm-up"
    page = Page("rate", page_text(phrases, body))
    assert page.phrases == tuple(words_of(phrase) for phrase in phrases)
    assert page.body == words_of(body)
