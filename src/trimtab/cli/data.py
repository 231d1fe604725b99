"""`trimtab data inspect`: what a recipe would train on, before it does."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from trimtab.cli.arguments import Json, Overrides, RecipeFile
from trimtab.cli.console import ConsoleProgress


def inspect(
    recipe: RecipeFile,
    overrides: Overrides = None,
    as_json: Json = False,
    limit: Annotated[
        int, typer.Option(min=1, help="Pairs to look at in each corpus, spread evenly.")
    ] = 200_000,
) -> None:
    """Count the examples, what would be dropped and why, and list lines that are not translations or repeat.

    Exit code 1 if every pair would be dropped, or if source and target are the same text.
    """
    from trimtab.config.load import load_recipe

    loaded = load_recipe(recipe, overrides or ())
    from trimtab.inspection import inspect_recipe, render

    report = inspect_recipe(loaded, limit=limit, progress=ConsoleProgress())
    typer.echo(json.dumps(asdict(report), ensure_ascii=False, indent=2) if as_json else render(report))
    if report.problems:
        raise typer.Exit(1)
