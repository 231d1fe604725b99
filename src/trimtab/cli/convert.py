"""`trimtab convert`: another tool's configuration as a recipe."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.shell import is_full
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.checks.convert import Conversion


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration of another tool.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it, unless a file is there; by default stdout."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="Which tool's file it is, where that cannot be seen.")
    ] = "",
) -> None:
    """Turn another tool's configuration into a recipe, and name what has no counterpart."""
    from trimtab.checks.convert import convert as made_from

    conversion = made_from(file, kind=kind)
    if out is None:
        typer.echo(conversion.recipe_text, nl=False)
    else:
        _write(out, conversion.recipe_text)
    _tell(conversion)


def _write(out: Path, text: str) -> None:
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


def _tell(conversion: "Conversion") -> None:
    """What a person has to know goes to stderr, so that stdout is the recipe alone."""
    for note in conversion.notes:
        typer.echo(f"note: {note}", err=True)
    for setting in conversion.unmatched:
        place = setting.place
        typer.echo(f"{place}: {setting.key} has no counterpart", err=True)
