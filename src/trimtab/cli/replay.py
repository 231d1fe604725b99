"""`trimtab replay`: repeats a step of a run to find out what went wrong in it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Device, Json
from trimtab.cli.console import ConsoleProgress
from trimtab.cli.numbers import Range, number_option


def replay(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run; it may still be training.")
    ],
    step: Annotated[
        int,
        number_option(
            "--step",
            Range(least=1),
            help="The step to repeat, as numbered in metrics.jsonl and findings.jsonl.",
            fix="name a step of the run; findings.jsonl lists the skipped ones",
        ),
    ],
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Repeat a step and say whether its data or the weights are at fault."""
    from trimtab.replaying.replay import replay as replayed

    progress = ConsoleProgress()
    try:
        report = replayed(run, step=step, device=device, progress=progress)
    finally:
        progress.close()
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
