from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.cli.fit_plan import FitRequest, parse_ranks, parsed, refuse_beside
from trimtab.errors import InputError


def test_a_plain_command_is_read_as_typer_reads_it():
    assert parsed(["my.yaml", "--gpu", "t4", "a=1", "--ram=64GB", "--json"]) == FitRequest(
        recipe=Path("my.yaml"), overrides=["a=1"], gpu="t4", ram="64GB", as_json=True
    )
    assert parsed(["my.yaml", "--model", "config.json"]).model == Path("config.json")


@for_each(
    "words",
    [
        [],
        ["--help"],
        ["my.yaml", "-h"],
        ["my.yaml", "--probe"],
        ["my.yaml", "--gup", "t4"],
        ["my.yaml", "--gpu"],
        ["my.yaml", "--gpu", "--json"],
        ["my.yaml", "--gpu", "t4", "--gpu", "h100"],
        ["my.yaml", "other.yaml"],
        ["a=1"],
        ["my.yaml", "--json=1"],
        ["my.yaml", "--", "a=1"],
    ],
)
def test_everything_else_is_left_to_typer(words):
    assert parsed(words) is None


def test_a_number_of_processes_is_read():
    assert parse_ranks(parsed(["my.yaml", "--ranks", "8"])) == 8
    assert parse_ranks(parsed(["my.yaml"])) == 1


@for_each("text", ["0", "-1", "x", "2.5", "", "9" * 30, "65537", "²"])
def test_what_is_no_number_of_processes_is_refused_with_an_example(text):
    with pytest.raises(InputError, match="--ranks: not a number of processes"):
        parse_ranks(FitRequest(Path("my.yaml"), ranks=text))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"solve": "batch", "gpu": "ALL"}, "--solve: needs one GPU, not a list"),
        ({"probe": True, "solve": "batch"}, "--probe with --solve"),
        ({"probe": True, "gpu": "t4", "ram": "8GB"}, "--probe with --gpu, --ram"),
        ({"probe": True, "memory": "8GB", "model": Path("config.json")}, "--probe with --memory, --model"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options, said):
    with pytest.raises(InputError) as refused:
        refuse_beside(FitRequest(Path("my.yaml"), **options))
    assert said in str(refused.value)
    for fine in ({"probe": True}, {"solve": "batch", "gpu": "t4"}, {"gpu": "all"}):
        refuse_beside(FitRequest(Path("my.yaml"), **fine))


def test_a_probe_has_one_gpu():
    with pytest.raises(InputError, match="--probe: trains on one GPU"):
        parse_ranks(FitRequest(Path("my.yaml"), ranks="2", probe=True))
