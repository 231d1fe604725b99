import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.freezing import FrozenUntil, patterns_of, stages_of, written

LATE, EARLY = (
    FrozenUntil(weights=(name,), until=until) for name, until in (("a.*", "20 steps"), ("b", "5 steps"))
)
FROZEN = (LATE, "c", EARLY, "d.*")


def test_patterns_and_stages_are_told_apart_and_stages_are_in_the_order_of_time():
    assert patterns_of(FROZEN) == ("c", "d.*")
    assert stages_of(FROZEN) == (EARLY, LATE)
    assert written(FROZEN) == "a.* until 20 steps, c, b until 5 steps, d.*"


@for_each("until", ["2 epochs", "0 steps", "100 tokens", "3 minutes"])
def test_only_a_number_of_steps_says_until_when(until):
    with pytest.raises(ValidationError):
        FrozenUntil(weights=("a",), until=until)


def test_a_stage_names_weights():
    with pytest.raises(ValidationError):
        FrozenUntil(weights=(), until="3 steps")
