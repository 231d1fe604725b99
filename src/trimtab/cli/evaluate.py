"""`trimtab evaluate`: how well a run translates a text whose translation is known."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Beam, Json, Run


def evaluate(
    run: Run,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Text to translate, one sentence a line.")],
    reference: Annotated[Path, typer.Option(metavar="FILE", help="Its translation by people, line by line.")],
    beam: Beam = 4,
    as_json: Json = False,
) -> None:
    """Score translations: BLEU, chrF, loss, repetition."""
    from trimtab import evaluation

    report = evaluation.evaluate(run, source=source, reference=reference, beam=beam)
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
