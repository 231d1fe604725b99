"""`trimtab demo`: a translator trained on the sample that comes with the package."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.console import ConsoleProgress


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run.")] = Path("runs/demo"),
    minutes: Annotated[float, typer.Option(min=0.1, max=600, help="How long to train.")] = 3.3,
) -> None:
    """Train, translate and report on real text, in a few minutes on a laptop."""
    from trimtab.demo.run import run_demo

    progress = ConsoleProgress()
    try:
        run_demo(out, minutes, progress=progress, output=sys.stdout)
    finally:
        progress.close()
