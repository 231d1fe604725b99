from pathlib import Path

from tests.for_each import for_each
from trimtab.cli.fit_plan import FitRequest, parsed


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
