import pytest
import typer

from trimtab.cli.generate_options import Temperature, choice_of
from trimtab.decode.generation_config import USUAL
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError

NOTHING = {"temperature": None, "top_p": None, "min_p": None, "top_k": None, "seed": None}


def test_what_is_not_given_has_the_usual_value():
    assert choice_of(**NOTHING) == USUAL
    assert choice_of(**{**NOTHING, "temperature": 1.0, "top_p": 1.0}) == Sampling(temperature=1.0, top_p=1.0)
    assert choice_of(**{**NOTHING, "min_p": 0.1, "top_k": 5, "seed": 7}) == Sampling(
        temperature=0.8, top_p=0.95, min_p=0.1, top_k=5, seed=7
    )


def test_a_temperature_of_zero_takes_the_likeliest_each_time():
    assert choice_of(**{**NOTHING, "temperature": 0.0}) is None


def test_an_option_that_would_count_for_nothing_is_refused():
    with pytest.raises(InputError, match="--top-p, --seed: only applies"):
        choice_of(**{**NOTHING, "temperature": 0.0, "top_p": 0.9, "seed": 2})


def test_the_temperatures_of_the_option_are_those_that_can_be_drawn_with():
    taken = Temperature.__metadata__[0].parser
    for value in (0.01, 0.8, 100):
        assert choice_of(**{**NOTHING, "temperature": taken(str(value))}).temperature == value
    for value in (0.0099, 100.1, -1.0):
        with pytest.raises(InputError, match=r"0\.01 to 100"):
            Sampling(temperature=value)
        with pytest.raises(typer.Exit):
            taken(str(value))


def test_a_temperature_that_is_next_to_zero_is_refused_by_name():
    with pytest.raises(InputError, match="temperature: out of range"):
        choice_of(**{**NOTHING, "temperature": 1e-5})
