"""`trimtab init`, `trimtab schema` and `trimtab demo`: ways to start."""

import io
import json
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from trimtab.cli.new_file import write_new
from trimtab.config.starter import init_recipe
from trimtab.config.task_facts import Task


def init(
    kind: Annotated[Task, typer.Argument(metavar="KIND", help="What to train.")] = "translation",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write, which must not exist; by default stdout."),
    ] = None,
) -> None:
    """Write a commented recipe to start from."""
    text = init_recipe(kind)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_new(out, text)
    typer.echo(
        f"{out}: put your files under `data`, then `trimtab train {quote(str(out))} --smoke`", err=True
    )


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run.")] = Path("runs/demo"),
    minutes: Annotated[float, typer.Option(min=0.1, max=600, help="How long to train.")] = 3.3,
) -> None:
    """Train, translate and report on real text, in a few minutes on a laptop."""
    from trimtab.cli.live_panel import training_progress
    from trimtab.demo.run import run_demo

    told = io.StringIO()  # printed below the panel
    with training_progress() as progress:
        run_demo(out, minutes, progress=progress, output=told)
    typer.echo(told.getvalue(), nl=False)


def schema() -> None:
    """Print the JSON Schema of recipes, for editors."""
    from trimtab.config.reference import recipe_schema

    typer.echo(json.dumps(recipe_schema(), indent=2, ensure_ascii=False))
