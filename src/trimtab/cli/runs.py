"""`trimtab runs`: the runs in a folder as a table."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Json


class Sort(StrEnum):
    """What the table is sorted by."""

    NAME = "name"
    STEP = "step"
    BEST = "best"
    LOSS = "loss"
    HEALTH = "health"
    WRITTEN = "written"


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="A folder with runs in it or below it; by default runs/.")
    ] = Path("runs"),
    sort: Annotated[
        Sort, typer.Option(metavar="KEY", help="name, step, best, loss, health or written.")
    ] = Sort.NAME,
    contains: Annotated[
        str,
        typer.Option(
            "--filter", metavar="TEXT", help="Only runs with this in their path, task, state or health."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """List runs: how far each is, its loss, its best score, its health."""
    from trimtab.report.run_list import list_runs, table_of

    found = list_runs(folder, sort=sort.value, contains=contains)
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in found], ensure_ascii=False, indent=2))
    else:
        typer.echo(
            table_of(found)
            if found
            else f"no runs in {folder}" + (f" match {contains!r}" if contains else "")
        )
