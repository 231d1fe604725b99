"""`trimtab rules` and `trimtab explain`: all rules and findings, and the page of one of them."""

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How the list is written."""

    TEXT = "text"
    JSON = "json"


def rules(
    format: Annotated[Format, typer.Option(help="How to write the list.")] = Format.TEXT,
) -> None:
    """List the rules of `trimtab check` and the findings of training runs."""
    from trimtab.checks.say.pages import all_pages
    from trimtab.checks.say.rule_list import as_objects, as_table
    from trimtab.run_findings.catalog import ALL

    pages = all_pages()
    text = (
        as_table(pages, ALL)
        if format is Format.TEXT
        else json.dumps(as_objects(pages, ALL), indent=2, ensure_ascii=False)
    )
    typer.echo(text)


def explain(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE|NAME|SYMPTOM",
            help="S104, warmup-longer-than-run, or a symptom: repeats the same words",
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
