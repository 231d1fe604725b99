"""What is wrong with a placement of directions on processes."""

import math
from typing import Any

import pytest

from trimtab.config.placement import placement_problems

NAMES = ("en-de", "de-en")


def test_shares_that_add_up_are_a_placement() -> None:
    assert not [*placement_problems([{"en-de": 0.25}, {"en-de": 0.75, "de-en": 1}], NAMES, key="it")]


@pytest.mark.parametrize(
    ("ranks", "what"),
    [
        ([{"en-de": 1.0, "de-en": 1.0}, {}], "rank 1 has no work"),
        ([{"en-de": 1.0, "de-en": 1.0}, {"en-de": 0.0}], "rank 1 has no work"),
        ([{"en-de": 1.0, "de-en": 1.0}, 3], "rank 1 has no work"),
        ([{"en-de": 1.0, "de-en": 1.0, "en-fr": 1.0}], "rank 0 has a direction that is not in the recipe"),
        ([{"en-de": 1.0, "de-en": math.nan}], "rank 0: not a share of de-en"),
        ([{"en-de": 1.0, "de-en": True}], "rank 0: not a share of de-en"),
        ([{"en-de": 1.0, "de-en": 0.9}], "shares do not add up to 1"),
    ],
)
def test_each_fault_is_named(ranks: list[Any], what: str) -> None:
    assert f"it: {what}" in [problem.what for problem in placement_problems(ranks, NAMES, key="it")]
