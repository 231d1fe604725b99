import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.for_each import for_each
from trimtab.units import LONGEST, Duration, counted


class Settings(BaseModel):
    length: Duration


@for_each(
    ("text", "count", "unit"),
    [
        ("500 steps", 500, "steps"), ("1 step", 1, "steps"), ("2k steps", 2000, "steps"), ("3 epochs", 3, "epochs"),
        ("1.5 epochs", 1.5, "epochs"), ("2M tokens", 2e6, "tokens"), ("2B tokens", 2e9, "tokens"),
        ("2G tokens", 2e9, "tokens"), ("1T tokens", 1e12, "tokens"), ("1.5k steps", 1500, "steps"),
        ("30 minutes", 30, "minutes"), ("0.5 Minutes", 0.5, "minutes"), (" 1_000  steps ", 1000, "steps"),
        ("1,000 steps", 1000, "steps"), ("500steps", 500, "steps"),
    ],
)  # fmt: skip
def test_a_length_is_a_number_and_its_unit(text, count, unit):
    assert Duration.parse(text) == Duration(count, unit)


@for_each(
    "text",
    ["", "500", "steps", "-1 steps", "0 steps", "1.5 steps", "0.5 tokens", "3 parsecs", "1e3 steps", "1 000 steps",
     "nan steps", "inf steps", "9" * 400 + " steps", "1 steps 2"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_allowed(text):
    with pytest.raises(ValueError, match="allowed"):
        Duration.parse(text)


@for_each(
    ("text", "said"),
    [("90 seconds", "1.5 minutes"), ("45s", "0.75 minutes"), ("2h", "120 minutes"), ("1.5 Hours", "90 minutes"),
     ("3 days", "4320 minutes"), ("5 min", "5 minutes"), ("0.01 seconds", "0.0002 minutes"),
     ("1k secs", "16.6667 minutes")],
)  # fmt: skip
def test_another_unit_of_time_is_read_as_minutes(text, said):
    length = Duration.parse(text)
    assert str(length) == said
    assert Duration.parse(said) == length


@pytest.mark.parametrize("text", ["0 seconds", "0h", "9" * 20 + " days"])
def test_no_time_and_endless_time_are_refused_in_any_unit(text):
    with pytest.raises(ValueError, match="more than zero, and less than"):
        Duration.parse(text)


@given(
    st.tuples(st.integers(1, int(LONGEST) - 1).map(float).filter(lambda count: count < LONGEST),
              st.sampled_from(["steps", "tokens"]))
    | st.tuples(st.floats(1e-9, 1e9), st.sampled_from(["epochs", "minutes"]))
)  # fmt: skip
def test_a_length_reads_back_from_its_text(pair):
    length = Duration(*pair)
    assert Duration.parse(str(length)) == length


def test_whole_numbers_are_written_without_a_point():
    assert [str(Duration.parse(text)) for text in ("2M tokens", "1.5 epochs", "3 epochs")] == [
        "2000000 tokens", "1.5 epochs", "3 epochs",
    ]  # fmt: skip


def test_steps_are_given_only_for_a_length_in_steps():
    assert Duration(500.0, "steps").steps == 500
    with pytest.raises(AssertionError):
        _ = Duration(3, "epochs").steps


def test_settings_hold_lengths_as_text_and_as_objects():
    assert Settings.model_validate({"length": "500 steps"}).length == Duration(500, "steps")
    assert Settings(length=Duration(1, "epochs")).model_dump() == {"length": "1 epochs"}
    assert Settings.model_json_schema()["properties"]["length"]["type"] == "string"


@for_each(
    ("value", "said"),
    [(500, "say the unit"), (2.5, "say the unit"), (True, "allowed"), (None, "allowed"), ([1], "allowed")],
)
def test_a_bare_number_is_asked_for_its_unit(value, said):
    with pytest.raises(ValidationError, match=said):
        Settings.model_validate({"length": value})


@for_each(
    ("count", "words", "said"),
    [
        (0, ["pair"], "0 pairs"),
        (1, ["pair"], "1 pair"),
        (2, ["class", "classes"], "2 classes"),
        (1, ["class", "classes"], "1 class"),
        (1200, ["pair"], "1,200 pairs"),
    ],
)
def test_one_thing_is_in_the_singular(count, words, said):
    assert counted(count, *words) == said
