import pytest

from tests.for_each import for_each
from trimtab.checks.catalogue import all_rules
from trimtab.checks.selection import chosen_rules
from trimtab.errors import InputError


def codes(select=(), ignore=()):
    return sorted(chosen_rules(select, ignore).codes)


EVERY = [rule.code for rule, _ in all_rules()]


def test_without_a_choice_every_rule_runs():
    assert codes() == EVERY


@for_each("word", ["S104", "s104", "warmup-longer-than-run", "TT401"])
def test_a_rule_is_chosen_by_code_name_and_alias(word):
    assert "S104" in codes([word])
    assert "S104" not in codes([], [word])


def test_the_beginning_of_a_code_chooses_all_that_begin_so():
    assert codes(["S1"]) == [code for code in EVERY if code.startswith("S1")]
    assert codes(["S", "C101"], ["S1"]) == [
        code for code in EVERY if (code.startswith("S") and not code.startswith("S1")) or code == "C101"
    ]


def test_unknown_words_are_all_told_with_the_nearest_known():
    with pytest.raises(InputError) as raised:
        codes(["warmup-longer-than-runs"], ["banana"])
    assert [problem.got for problem in raised.value.problems] == ["warmup-longer-than-runs", "banana"]
    assert raised.value.problems[0].fix == "did you mean `warmup-longer-than-run`?"
    assert "trimtab rules" in raised.value.problems[1].fix
