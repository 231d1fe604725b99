import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.refusal import has_four_parts
from trimtab.cli.numbers import Range, parser_for

OR_ZERO = Range(least=0.01, most=100, whole=False, or_zero=True)


@given(st.just(0.0) | st.floats(0.01, 100))
def test_zero_is_taken_beside_a_range_where_that_is_said(number):
    assert parser_for("--n", OR_ZERO, fix="x")(str(number)) == number


@given(st.integers(1, 64))
def test_numbers_in_the_range_are_read(number):
    assert parser_for("--n", Range(least=1, most=64), fix="x")(str(number)) == number
    assert parser_for("--n", Range(least=0.5, whole=False), fix="x")(f"{number}.5") == number + 0.5
    assert parser_for("--n", Range(least=1, most=64), fix="x")(number) == number


@pytest.mark.parametrize(
    ("range", "text", "what", "allowed"),
    [
        (Range(least=1, most=64), "65", "out of range", "whole numbers from 1 to 64"),
        (Range(least=1), "0", "out of range", "whole numbers from 1 on"),
        (Range(least=1), "1.0", "not a whole number", "whole numbers from 1 on"),
        (Range(least=0, most=0.5, whole=False), "0.51", "out of range", "numbers from 0 to 0.5"),
        (OR_ZERO, "0.005", "out of range", "0, or numbers from 0.01 to 100"),
        (OR_ZERO, "-1", "out of range", "0, or numbers from 0.01 to 100"),
        (OR_ZERO, "nan", "out of range", "0, or numbers from 0.01 to 100"),
        (Range(least=0, whole=False), "nan", "out of range", "numbers from 0 on"),
        (Range(least=0, whole=False), "inf", "out of range", "numbers from 0 on"),
        (Range(least=0, whole=False), "", "not a number", "numbers from 0 on"),
    ],
)
def test_others_end_the_command_with_what_was_got_what_is_allowed_and_what_to_do(
    capsys, range, text, what, allowed
):
    with pytest.raises(typer.Exit) as raised:
        parser_for("--n", range, fix="take 1")(text)
    message = capsys.readouterr().err
    assert raised.value.exit_code == 2
    assert message.startswith(f"error: --n: {what}\n")
    assert f"  allowed {allowed}\n  fix     take 1\n" in message
    assert has_four_parts(message) or not text
