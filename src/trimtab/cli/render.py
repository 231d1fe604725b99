"""`trimtab data render`: lines of a text as images, with a list that a recipe reads."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.console import ConsoleProgress
from trimtab.errors import input_error


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
    page: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WIDTHxHEIGHT",
            help="Draw pages of this size with a box for each line, for detection, such as 1280x720; may be given more "
            "than once. --count is then pages, 100 by default.",
        ),
    ] = None,
    augment: Annotated[
        bool, typer.Option("--augment", help="Also slant, blur, fade and invert them, as training does.")
    ] = False,
) -> None:
    """Draw lines or pages of text as images to train or test recognition or detection.

    Writes DIR/images/ and DIR/labels.tsv, or with --page DIR/images/ and DIR/boxes.json in COCO's form. A font is used
    only for lines whose characters it has; the report counts and names lines that no font can draw.
    """
    from trimtab.tasks.recognition.write_rendered import write_rendered

    progress = ConsoleProgress()
    if page:
        _pages(text, out, font=font, page=page, count=count, seed=seed, augment=augment)
        return
    try:
        report = write_rendered(
            text, out, fonts=font, count=count, seed=seed, augment=augment, progress=progress
        )
    finally:
        progress.close()
    typer.echo(report.render())


def _pages(
    text: Path, out: Path, *, font: list[str], page: list[str], count: int | None, seed: int, augment: bool
) -> None:
    from trimtab.tasks.detection.pages import page_size, write_pages

    if augment:
        raise input_error(
            "--augment: pages are drawn as they are",
            got="--augment beside --page",
            allowed="one of them",
            fix="leave it out; `data.canvas.augment` changes pages while training",
        )
    sizes = [page_size(each) for each in page]
    progress = ConsoleProgress()
    try:
        report = write_pages(
            text, out, fonts=font, sizes=sizes, count=count or 100, seed=seed, progress=progress
        )
    finally:
        progress.close()
    typer.echo(report.render())
