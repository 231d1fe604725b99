import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.data.source_factors import (
    case_of,
    in_lower_case,
    normalised_words,
    rewritten,
    split_words,
    text_of_words,
    with_factors,
    without_factors,
)
from trimtab.errors import InputError

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=1).filter(
    str.strip
)
VALUES = st.text("ABCxyz", min_size=1)


@for_each(
    ("word", "case"),
    [
        ("ship", "lower"), ("Ship", "title"), ("SHIP", "upper"), ("iPhone", "mixed"), ("I", "title"),
        ("(Ship),", "title"), ("42", "none"), ("船", "none"), ("", "none"), ("ß", "lower"), ("ÄÖ", "upper"),
        ("ǅ", "title"), ("B2B", "upper"),
    ],
)  # fmt: skip
def test_a_word_has_the_case_of_its_letters(word, case):
    assert case_of(word) == case


@given(WORDS)
def test_lower_case_and_the_factor_together_lose_no_letter(word):
    if case_of(word) in ("lower", "none", "mixed"):
        assert in_lower_case(word).casefold() == word.casefold()
    assert case_of(word) != "mixed" or in_lower_case(word) == word


@given(st.lists(st.tuples(WORDS.filter(lambda word: len(word.split()) == 1), VALUES, VALUES)))
def test_values_behind_words_come_off_again_whatever_the_words_contain(rows):
    words, first, second = ([row[place] for row in rows] for place in range(3))
    line = with_factors(" ".join(words), [" ".join(first), " ".join(second)])
    assert line is not None
    assert split_words(line, 2) == [list(row) for row in rows]
    assert without_factors(line, 2) == " ".join(words)


def test_columns_of_another_length_do_not_fit():
    assert with_factors("a b", ["X"]) is None
    assert with_factors("a b", ["X Y", "X Y Z"]) is None


@for_each("line", ["a", "a|X b", "|X", "a|X|Y b|X"])
def test_a_word_without_its_values_is_refused_with_the_word(line):
    with pytest.raises(InputError, match="a word has no values of the 2 source factors"):
        split_words(line, 2)


def test_rewritten_words_keep_their_values():
    parts = {"a": "A B", "b": "", "c": "c"}
    assert rewritten("a|X b|Y c|Z", 1, lambda word: parts[word]) == "A|X B|X c|Z"
    assert normalised_words("a c", change=lambda line: line.replace("a", "z"), count=2) == "z c"
    assert text_of_words("Ship|X iPad|Y", count=1, lowercase=True) == "ship iPad"
