"""`trimtab data render`: lines of a text as images, with a list that a recipe reads."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.console import ConsoleProgress


def render(
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="Lines to draw (plain, .gz, .xz or .zst).")],
    font: Annotated[
        list[str],
        typer.Option(metavar="PATH", help="A font, or a folder with fonts; may be given more than once."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write, which must not exist or be empty.")
    ],
    count: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000_000,
            help="Number of images; by default, one per line. Lines repeat if needed.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Draws font, size, paper and ink; the same seed gives the same images.")
    ] = 1,
    augment: Annotated[
        bool, typer.Option("--augment", help="Also slant, blur, fade and invert them, as training does.")
    ] = False,
) -> None:
    """Draw lines of text as images to train or test recognition.

    Writes DIR/images/ and DIR/labels.tsv. A font is used only for lines whose characters it has; the report counts and
    names lines that no font can draw.
    """
    from trimtab.tasks.recognition.write_rendered import write_rendered

    progress = ConsoleProgress()
    try:
        report = write_rendered(
            text, out, fonts=font, count=count, seed=seed, augment=augment, progress=progress
        )
    finally:
        progress.close()
    typer.echo(report.render())
