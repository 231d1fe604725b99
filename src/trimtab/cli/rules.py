"""`trimtab rules`: all rules and findings."""

import json
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
