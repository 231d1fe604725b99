import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.metrics.cer import cer
from trimtab.metrics.metric import Readings, edit_distance

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
