"""`trimtab init`: a commented recipe to start from."""

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from trimtab.cli.new_file import write_new
from trimtab.config.starter import init_recipe


class Kind(StrEnum):
    """The tasks that there is a starter for."""

    TRANSLATION = "translation"
    LANGUAGE_MODEL = "language_model"
    CLASSIFICATION = "classification"


def init(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What to train.")] = Kind.TRANSLATION,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it, unless a file is there; by default stdout."),
    ] = None,
) -> None:
    """Write a commented recipe to start from."""
    text = init_recipe(kind.value)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_new(out, text)
    typer.echo(
        f"{out}: put your files under `data`, then `trimtab train {quote(str(out))} --smoke`", err=True
    )
