import pytest
import typer

from tests.for_each import for_each
from trimtab.cli.random_options import Seed, TopK, given, idle, temperature_option, top_p_option
from trimtab.decode.sampling import Sampling
from trimtab.errors import InputError


def parser(option):
    return getattr(option, "__metadata__", (option,))[0].parser


@for_each(
    ("name", "option", "taken", "refused"),
    [
        ("top_k", TopK, ["1", "70"], ["0", "1.5", "x"]),
        ("top_p", top_p_option(usual="1"), ["0.000001", "1"], ["0", "1.01", "nan"]),
        ("temperature", temperature_option(help="", fix="", usual="1"), ["0.01", "100"], ["0", "101"]),
        ("seed", Seed, ["0", str(2**63 - 1)], ["-1", str(2**63)]),
    ],
)
def test_what_an_option_takes_can_be_drawn_with(name, option, taken, refused):
    for text in taken:
        assert getattr(Sampling(**{name: parser(option)(text)}), name) == float(text) or name == "seed"
    for text in refused:
        with pytest.raises(typer.Exit):
            parser(option)(text)


def test_zero_is_a_temperature_only_where_it_has_a_meaning():
    assert parser(temperature_option(help="", fix="", usual="1", or_zero=True))("0") == 0


def test_options_that_would_count_for_nothing_are_named_as_they_are_typed():
    assert given(top_p=None, seed=0) == {"seed": 0}
    error = idle(given(top_k=0, seed=1), drawn="texts", without="alone", allowed="both", fix="drop it")
    assert isinstance(error, InputError)
    assert str(error).splitlines()[0] == "--top-k, --seed: only applies to sampled texts"
