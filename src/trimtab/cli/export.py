"""`trimtab export`: a run in the form of another library, proven on real lines."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Json, Run, Tag
from trimtab.config.export_targets import target_help


def export(
    run: Run,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to make; nothing may be there yet.")],
    to: Annotated[str, typer.Option(metavar="TARGET", help=target_help())] = "hf",
    quantization: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="How weights are stored: float32, or float16, bfloat16, int8 and others."
        ),
    ] = "float32",
    loss: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS", help="With rounded weights: the most chrF lost against the trainer's text; 10."
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Text to prove it on, in place of the run's validation sets; one sentence a line.",
        ),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its translation, line by line.")
    ] = None,
    tag: Tag = None,
    as_json: Json = False,
) -> None:
    """Export a model for another library, compared with the trainer on 200 real lines; exit 1 where it differs."""
    from trimtab.export.quantized import MOST_LOSS, Quantized
    from trimtab.exporting import export_model

    report = export_model(
        run,
        to=to,
        out=out,
        source=source,
        reference=reference,
        tags=tag or (),
        quantized=Quantized(kind=quantization, most_loss=MOST_LOSS if loss is None else loss),
    )
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
