"""`trimtab fit`: the memory and the speed of a run, before it begins."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Overrides


def fit(
    recipe: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE", help="A recipe, or config.json of a Hugging Face model, or its folder."
        ),
    ],
    overrides: Overrides = None,
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="h100-80gb, rtx-4090, ..., or all; by default the GPU of this machine."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of a GPU that has no name here, such as 24GB.")
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(metavar="N", help="Processes that train together, each on its own GPU; by default 1."),
    ] = None,
    ram: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of the host, such as 64GB.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="config.json of a model to plan in place of the recipe's."),
    ] = None,
    solve: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Find the largest batch, length, rank or dim that fits."),
    ] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Train a few steps of the worst case, and compare.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan memory and speed before the first step, without a GPU.

    Lists what needs memory on the GPU. If it does not fit, prints the settings that do, as lines of the recipe.
    """
    from trimtab.cli.fit_plan import FitRequest, run_fit

    request = FitRequest(
        recipe=recipe,
        overrides=overrides or [],
        gpu=gpu,
        memory=memory,
        ranks=ranks,
        ram=ram,
        model=model,
        solve=solve,
        probe=probe,
        as_json=as_json,
    )
    if code := run_fit(request):
        raise typer.Exit(code)
