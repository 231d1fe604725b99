"""`trimtab doctor`: one page on this installation and this machine, to be pasted into a report."""

import json

import typer

from trimtab.cli.arguments import Json


def doctor(as_json: Json = False) -> None:
    """Show what is installed, which GPU paths run and why not, and what installs the rest."""
    from trimtab.doctor import diagnose, render

    found = diagnose()
    typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if as_json else render(found))
