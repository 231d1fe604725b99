from tests.for_each import for_each
from trimtab.checks.say.search_index import by_code
from trimtab.checks.say.topics import MOST_RULES, rules_about


@for_each("text", ["S", "s1", " S10 ", "c"])
def test_the_beginning_of_a_code_lists_all_that_begin_so(text):
    begun = [rule for rule in by_code() if rule.code.lower().startswith(text.strip().lower())]
    assert rules_about(text) == tuple(begun)
    assert begun


def test_rules_with_the_word_in_their_name_come_first():
    names = [rule.name for rule in rules_about("warmup")]
    has_it = ["warmup" in name for name in names]
    assert has_it == sorted(has_it, reverse=True)
    assert any(has_it)


def test_a_key_is_found_in_what_a_rule_says():
    assert "L109" in [rule.code for rule in rules_about("padding")]
    assert rules_about("label_smoothing_factor")


@for_each("text", ["", " ", "zz", "banana", "a sentence of more than three words", "-", "_"])
def test_other_words_lead_nowhere(text):
    assert rules_about(text) == ()


def test_there_are_never_more_than_can_be_read():
    assert all(len(rules_about(word)) <= MOST_RULES for word in ("the", "is", "training"))
