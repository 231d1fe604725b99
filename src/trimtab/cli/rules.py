"""`trimtab rules`: all rules of `check`."""

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
    """List the rules of `trimtab check`."""
    from trimtab.checks.say.pages import all_pages
    from trimtab.checks.say.rule_list import as_objects, as_table

    pages = all_pages()
    text = (
        as_table(pages)
        if format is Format.TEXT
        else json.dumps(as_objects(pages), indent=2, ensure_ascii=False)
    )
    typer.echo(text)
