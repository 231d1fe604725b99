"""`trimtab explain`: the page of a rule, or what may be behind what somebody sees."""

import sys
from typing import Annotated

import typer


def explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE|NAME|SYMPTOM",
            help="S104, warmup-longer-than-run, or what you see: repeats the same words",
        ),
    ],
) -> None:
    """Explain a code or a name, or find by symptom: trimtab explain "loss is NaN"."""
    from trimtab.checks.say.explain import explanation

    found = explanation(" ".join(words))
    if not found.is_found:
        typer.echo(found.text, nl=False, err=True)
        raise typer.Exit(1)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(found.text))
    else:
        typer.echo(found.text, nl=False)
