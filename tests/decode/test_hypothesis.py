import pytest

from tests.decode.copying import CharacterTokenizer
from trimtab.decode.hypothesis import Hypothesis, Symbols, normalise


class MarianLike(CharacterTokenizer):
    pad, unknown, start, end = 9, 1, 9, 0


class PadIsEnd(CharacterTokenizer):
    pad, unknown, start, end = 2, 1, 0, 2


def test_pad_start_and_unknown_are_never_produced():
    assert Symbols.of(MarianLike(10)) == Symbols(start=9, end=0, suppress=(1, 9))


def test_the_end_symbol_can_be_produced_whatever_else_it_stands_for():
    assert Symbols.of(PadIsEnd(10)) == Symbols(start=0, end=2, suppress=(0, 1))


@pytest.mark.parametrize(("length_penalty", "expected"), [(0.0, -8.0), (1.0, -2.0), (0.5, -4.0)])
def test_the_score_is_divided_by_a_power_of_the_length(length_penalty, expected):
    assert normalise(-8.0, length=4, length_penalty=length_penalty) == expected


def test_the_length_counts_the_end_symbol():
    assert Hypothesis(ids=[5, 6], score=-1.0, normalised=-0.3).length == 3
