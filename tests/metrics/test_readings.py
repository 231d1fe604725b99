import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.metrics.metric import Readings, edit_distance
from trimtab.metrics.readings import cer, exact, is_loop, loops, wer

TEXTS = st.text("abc é漢", max_size=9)


def by_table(one, other):
    """The obvious algorithm, Wagner and Fischer 1974."""
    row = list(range(len(other) + 1))
    for number, a in enumerate(one, 1):
        before, row = row, [number]
        for place, b in enumerate(other, 1):
            row.append(min(before[place] + 1, row[-1] + 1, before[place - 1] + (a != b)))
    return row[-1]


@given(TEXTS, TEXTS)
def test_edits_are_those_of_the_obvious_algorithm(one, other):
    assert edit_distance(one, other) == by_table(one, other)
    assert edit_distance(one.split(), other.split()) == by_table(one.split(), other.split())


@pytest.mark.parametrize(
    ("outputs", "references", "expected"),
    [
        (["abc"], ["abc"], 0.0),
        (["ab", "x" * 10], ["ab", "y" * 8], 1.0),  # 10 edits of 10 characters, not the mean of 0 and 1.25
        (["aaaa"], ["a"], 3.0),
        ([""], ["ab"], 1.0),
        (["ab"], [""], math.nan),
        ([], [], math.nan),
    ],
)
def test_all_edits_are_divided_by_all_characters(outputs, references, expected):
    assert cer(Readings(outputs=outputs, references=references)) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("outputs", "references", "expected"),
    [
        (["the  cat"], ["the cat"], 0.0),
        (["the cats", "sat"], ["the cat", "sat down"], 0.5),
        ([""], ["a b"], 1.0),
        (["a"], [" "], math.nan),
    ],
)
def test_edits_of_words_are_divided_by_all_words(outputs, references, expected):
    assert wer(Readings(outputs=outputs, references=references)) == pytest.approx(expected, nan_ok=True)


def test_lines_without_an_error_are_counted():
    assert exact(Readings(outputs=["a", "b ", ""], references=["a", "b", ""])) == 2 / 3
    assert math.isnan(exact(Readings(outputs=[], references=[])))


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("ACCOUNT ON D ON D ON D ON D", "ACCOUNT", True),
        ("the cat sat sat sat sat sat sat", "the cat sat", True),
        ("aaaaaaaaaaaa", "a", True),
        ("see page ..........", "see page ..........", False),  # as it is written
        ("12222", "12222", False),
        ("a long reading of something else", "short", False),
        ("", "", False),
    ],
)
def test_a_loop_is_a_repeated_end_that_is_not_written_there(output, reference, expected):
    assert is_loop(output, reference) is expected


def test_their_share_is_of_all_lines():
    assert loops(Readings(outputs=["x" * 30, "a"], references=["x", "a"])) == 0.5
    assert math.isnan(loops(Readings(outputs=[], references=[])))
