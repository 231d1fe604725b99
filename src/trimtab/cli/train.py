"""`trimtab train`: a recipe becomes a run."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Overrides, RecipeFile
from trimtab.cli.console import ConsoleProgress
from trimtab.config.load import load_recipe


def train(
    recipe: RecipeFile,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the run; by default runs/ and the recipe's name."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the newest checkpoint of the run.")
    ] = False,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Overfit one step's worth in seconds, to see that the line works.")
    ] = False,
) -> None:
    """Train a model."""
    loaded = load_recipe(recipe, overrides or ())
    from trimtab import launch

    progress = ConsoleProgress()
    try:
        launch.train(
            loaded,
            out=out or default_folder(recipe, smoke=smoke),
            resume=resume,
            smoke=smoke,
            progress=progress,
        )
    finally:
        progress.close()


def default_folder(recipe: Path, *, smoke: bool) -> Path | None:
    """`runs/en_de` for `recipes/en_de.yaml`; a smoke run leaves nothing behind unless it is told where."""
    return None if smoke else Path("runs") / recipe.stem
