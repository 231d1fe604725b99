"""`trimtab export`: a run in the format of another library, verified on real lines."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Direction, Json, Run, Tag, with_direction
from trimtab.config.export_targets import target_help


def export(
    run: Run,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to create; it must not exist yet.")],
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
            metavar="POINTS",
            help="With quantized weights: the largest loss of chrF against the trainer's text; 10.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Text to verify the export on instead of the run's validation sets; one sentence per line.",
        ),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its translation, line by line.")
    ] = None,
    tag: Tag = None,
    direction: Direction = None,
    as_json: Json = False,
) -> None:
    """Export a model for another library and verify it on 200 real lines; exit code 1 if the outputs differ."""
    print(
        f"exporting {run} for {to}; the comparison with it on real lines or images may take minutes on a CPU",
        file=sys.stderr,
    )
    from trimtab.export.quantized import MOST_LOSS, Quantized
    from trimtab.exporting import export_model

    report = export_model(
        with_direction(run, direction),
        to=to,
        out=out,
        source=source,
        reference=reference,
        tags=tag or (),
        quantized=Quantized(kind=quantization, most_loss=MOST_LOSS if loss is None else loss),
    )
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())
