import pytest

from tests.data.demo_pairs import Listed, demo_pairs
from trimtab.data.swapped import Swapped, find_swapped, profiles, similarity


def turned(pairs):
    return [pair[::-1] for pair in pairs]


def corpora(*pairs, tags=((), ())):
    return [
        (f"c{number}", tag, Listed(each)) for number, (each, tag) in enumerate(zip(pairs, tags, strict=True))
    ]


TRAIN, VALID = demo_pairs(500), demo_pairs(100, "valid")


def test_a_set_the_other_way_round_is_found():
    assert find_swapped(corpora(TRAIN, turned(VALID))) == [Swapped("c1", "c0")]


def test_a_set_the_right_way_round_is_not():
    assert find_swapped(corpora(TRAIN, VALID)) == []


def test_sets_of_other_tags_may_go_the_other_way():
    assert find_swapped(corpora(TRAIN, turned(VALID), tags=(("<2de>",), ("<2en>",)))) == []


def test_a_few_lines_say_nothing():
    assert find_swapped(corpora(TRAIN, turned(VALID[:5]))) == []


def test_a_text_is_like_itself_and_unlike_another_language():
    english, german = profiles(Listed(TRAIN))
    more_english, _ = profiles(Listed(VALID))
    assert similarity(english, english) == pytest.approx(1)
    assert similarity(english, more_english) > 0.7 > similarity(german, more_english)
    assert similarity(english, type(english)()) == 0
