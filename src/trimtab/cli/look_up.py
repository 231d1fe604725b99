"""`trimtab rules`, `trimtab schema` and `trimtab doctor`: what there is to look up."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from trimtab.cli.arguments import Json


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


def schema() -> None:
    """Print the JSON Schema of recipes, for editors."""
    from trimtab.config.reference import recipe_schema

    typer.echo(json.dumps(recipe_schema(), indent=2, ensure_ascii=False))


def doctor(as_json: Json = False) -> None:
    """Show what is installed, which GPU paths run and why not, and what installs the rest."""
    from trimtab.doctor import diagnose, render

    found = diagnose()
    typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if as_json else render(found))
