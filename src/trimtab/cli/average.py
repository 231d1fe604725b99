"""`trimtab average`: the mean of several checkpoints."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Json
from trimtab.cli.numbers import Range, number_option


def average(
    checkpoints: Annotated[
        list[str],
        typer.Argument(metavar="CHECKPOINT ...", help="RUN@500 RUN@1000 ..., or one RUN with --last."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the mean, which is used like a run.")],
    last: Annotated[
        int | None,
        number_option(
            "--last",
            Range(least=2),
            help="The newest N checkpoints of the run.",
            fix="name at least 2; `checkpoint.keep` says how many a run keeps",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Average the weights of checkpoints, and say what it gained on the validation sets."""
    from trimtab.averaging import average as averaged

    report = averaged(checkpoints, out=out, last=last)
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
