"""`trimtab init` and `trimtab demo`: ways to start."""

import io
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from trimtab.cli.new_file import write_new
from trimtab.config.task_record import Task
from trimtab.errors import input_error

USUAL_TEMPERATURE = 5.0


Kind = Literal[Task, "multilingual"]
"""A task, or the translation between many languages."""


def init(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What to train.")] = "translation",
    languages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LANGUAGES", help="With multilingual, the languages to translate between: en de pt."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="With multilingual, where the corpora are: train.en beside train.de."
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            max=1000,
            help="With multilingual, the sampling temperature over corpora: 5 by default, 1 samples by size.",
        ),
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option(
            min=2, help="With multilingual, number of groups of similar languages that share decoder layers."
        ),
    ] = None,
    denoise: Annotated[
        bool,
        typer.Option(
            "--denoise", help="With multilingual, also train to restore corrupted lines of each language."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write, which must not exist; by default stdout."),
    ] = None,
) -> None:
    """Write a commented recipe to start from."""
    if kind == "multilingual":
        text = _multilingual(
            languages or [], data, temperature=temperature, out=out, groups=groups, denoise=denoise
        )
    else:
        others = [data, temperature, groups, denoise or None]
        _refuse_languages(kind, languages or [], others=any(each is not None for each in others))
        from trimtab.config.task_facts import init_recipe

        text = init_recipe(kind)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_new(out, text)
    typer.echo(
        f"{out}: {'look through it' if kind == 'multilingual' else 'put your files under `data`'}, then "
        f"`trimtab train {quote(str(out))} --smoke`",
        err=True,
    )


def _multilingual(
    languages: list[str],
    data: Path | None,
    *,
    temperature: float | None,
    out: Path | None,
    groups: int | None,
    denoise: bool,
) -> str:
    from trimtab.cli.live_panel import training_progress
    from trimtab.multilingual import multilingual_recipe

    if data is None:
        raise input_error(
            "init multilingual: no folder of corpora",
            got="no --data",
            allowed="--data DIR",
            fix="write `trimtab init multilingual en de pt --data DIR`",
        )
    chosen = USUAL_TEMPERATURE if temperature is None else temperature
    with training_progress() as progress:
        return multilingual_recipe(
            languages,
            data=data,
            temperature=chosen,
            groups=groups,
            denoise=denoise,
            out=out,
            progress=progress,
        )


def _refuse_languages(kind: Task, languages: list[str], *, others: bool) -> None:
    if languages or others:
        raise input_error(
            f"init {kind}: does not accept languages or the options of multilingual",
            got=" ".join(languages) or "--data, --temperature, --groups or --denoise",
            allowed="`trimtab init multilingual LANGUAGES --data DIR`",
            fix=f"leave them out, or write `multilingual` in place of {kind}",
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
