"""`trimtab init`: a commented recipe to start from."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.shell import is_full
from trimtab.config.starter import init_recipe
from trimtab.errors import input_error


class Kind(StrEnum):
    """The tasks that there is a starter for."""

    TRANSLATION = "translation"


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
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise input_error(
            f"--out {out}: exists already",
            got="something of this name",
            allowed="a new file",
            fix="name another file, or remove this one",
        ) from None
    except OSError as error:
        if is_full(error):
            out.unlink(missing_ok=True)
            raise
        raise input_error(
            f"--out {out}: cannot be written",
            got=error.strerror or str(error),
            allowed="a new file in a folder that exists",
            fix="make the folder, or name another file",
        ) from None
    typer.echo(f"{out}: put your files under `data`, then `trimtab train {out} --smoke`", err=True)
