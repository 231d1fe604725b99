"""`trimtab evaluate`: how well a run translates a text whose translation is known."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Beam, Json, Run, Tag
from trimtab.config.bleu import BleuTokenizer


def evaluate(
    run: Run,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Text to translate, one sentence a line.")],
    reference: Annotated[Path, typer.Option(metavar="FILE", help="Its translation by people, line by line.")],
    beam: Beam = 4,
    tag: Tag = None,
    bleu_tokenizer: Annotated[
        BleuTokenizer, typer.Option(help="How sacreBLEU cuts words; languages without spaces need their own.")
    ] = "13a",
    as_json: Json = False,
) -> None:
    """Score translations: BLEU, chrF, loss, repetition."""
    from trimtab import evaluation

    report = evaluation.evaluate(
        run, source=source, reference=reference, beam=beam, tags=tag or (), bleu_tokenizer=bleu_tokenizer
    )
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
