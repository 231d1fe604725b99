"""`trimtab fit`: the memory and the speed of a run, before it begins."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import Overrides

if TYPE_CHECKING:
    from trimtab.fit.report import Answer


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
    ram: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of the host, such as 64GB.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="config.json that stands in for the model of the recipe."),
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
    from trimtab.fit import ask

    subject = ask.open_subject(recipe, overrides or (), model=model)
    gpus, host, size = ask.choose_gpus(gpu, memory), ask.host_memory(ram), ask.parse_size(solve)
    if probe:
        typer.echo(_probed(recipe, overrides or [], as_json=as_json), nl=False)
        return
    if len(gpus) > 1:
        answers = ask.answers_on_all(subject, ram=host)
        _tell_all(answers, as_json=as_json)
        fits = any(each.fits for each in answers)
    else:
        is_here = gpu is None and memory is None
        given = host if host is not None or not is_here else ask.memory_here()
        answer = ask.answer_on(subject, gpus[0], ram=given, size=size)
        _tell(answer, as_json=as_json)
        fits = answer.fits or size is not None
    if not fits:
        raise typer.Exit(1)


def _tell(answer: "Answer", *, as_json: bool) -> None:
    from trimtab.fit.report import as_text, as_values

    typer.echo(json.dumps(as_values(answer), indent=2) + "\n" if as_json else as_text(answer), nl=False)


def _tell_all(answers: "list[Answer]", *, as_json: bool) -> None:
    from trimtab.fit.report import as_values, text_of_all

    if as_json:
        typer.echo(json.dumps([as_values(each) for each in answers], indent=2))
    else:
        typer.echo(text_of_all(answers), nl=False)


def _probed(recipe: Path, overrides: list[str], *, as_json: bool) -> str:
    from trimtab.probing import probe

    return probe(recipe, overrides, as_json=as_json)
