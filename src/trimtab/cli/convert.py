"""`trimtab convert`: another tool's configuration as a recipe."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.new_file import write_new

if TYPE_CHECKING:
    from trimtab.checks.convert import Conversion


def convert(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A configuration of another tool, or a script with its command."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write, which must not exist; by default stdout."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="Which tool's file it is, if trimtab cannot tell.")
    ] = "",
) -> None:
    """Convert another tool's configuration to a recipe, and list what has no counterpart."""
    from trimtab.checks.convert import convert as made_from

    conversion = made_from(file, kind=kind, folder=Path() if out is None else out.parent)
    if out is None:
        typer.echo(conversion.recipe_text, nl=False)
    else:
        write_new(out, conversion.recipe_text)
    _tell(conversion)
    if not conversion.is_trainable:
        # What was written is a draft that `trimtab check` refuses; a script must not continue with it.
        raise typer.Exit(1)


def _tell(conversion: "Conversion") -> None:
    """What a person has to know goes to stderr, so that stdout is the recipe alone."""
    for note in conversion.notes:
        typer.echo(f"note: {note}", err=True)
    for setting in conversion.unmatched:
        place = setting.place
        typer.echo(f"{place}: {setting.key} has no counterpart", err=True)
