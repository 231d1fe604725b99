from pathlib import Path

import pytest

from trimtab.checks.say.symptoms import Cause, search

ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("phrasings.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
AT_LEAST = {"known": 0.9, "fresh": 0.8, "third": 0.9, "fourth": 0.9, "fifth": 0.8}
"""The share of phrasings with a true cause among the first three answers."""


def place(text: str, right: str) -> int:
    """At which place the first right answer stands, from 0; 99 where it is not among the first five."""
    named = [
        each.symptom.name.replace(" ", "_") if isinstance(each, Cause) else each.code
        for each in search(text).likeliest
    ]
    wanted = tuple(right.split())
    return next((at for at, name in enumerate(named) if name.startswith(wanted)), 99)


@pytest.mark.parametrize("kind", AT_LEAST)
def test_a_true_cause_is_among_the_first_three_answers(kind):
    places = [place(text, right) for of, text, right in ROWS if of == kind]
    assert len(places) >= (30 if kind in ("third", "fifth") else 60)
    assert sum(at < 3 for at in places) >= AT_LEAST[kind] * len(places)
