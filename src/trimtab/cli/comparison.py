"""The options of `evaluate` that score existing translations and compare systems."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import DEFAULT_BEAM
from trimtab.errors import input_error
from trimtab.metrics.metric import MetricSettings

Against = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL|FILE",
        help="Baseline to test against on the same lines: a model, or a file of its translations. Paired bootstrap "
        "resampling and approximate randomization of sacreBLEU, with confidence intervals and p-values.",
    ),
]
Hypotheses = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Score this file of translations, one for each line of the reference, with or without a MODEL; "
        "repeatable.",
    ),
]


def run_comparison(
    run: str | None,
    hypotheses: list[Path],
    *,
    against: str | None,
    source: Path | None,
    reference: Path | None,
    beam: int | None,
    tags: list[str] | None,
    more: tuple[list[str], MetricSettings],
    as_json: bool,
) -> None:
    """Prints the comparison; InputError for files that are missing among the options or on the disk."""
    if reference is None:
        raise input_error(
            "evaluate: nothing to compare the translations with",
            got="no --reference",
            allowed="--reference FILE, the right translation of each line",
            fix="add --reference FILE",
        )
    if run is None and not hypotheses:
        raise input_error(
            "--against: nothing to test against it",
            got=f"--against {against} alone",
            allowed="a MODEL, --hypotheses FILE, or both",
            fix="name the system that should be better: a run, or --hypotheses FILE",
        )
    is_text = against is None or against == "-" or Path(against).is_file()
    if run is None and is_text and (beam is not None or tags):
        raise input_error(
            f"{'--tag' if tags else '--beam'}: there is no model that would translate",
            got="files of translations alone",
            allowed="a MODEL with it, or neither",
            fix="leave it out",
        )
    for path in hypotheses:
        if str(path) != "-" and not path.is_file():
            raise input_error(
                f"--hypotheses {path}: no such file",
                got="a folder" if path.is_dir() else "nothing with this name",
                allowed="a text file with a translation a line; - is stdin",
                fix="name a run without --hypotheses" if path.is_dir() else "check the path",
            )
    from trimtab.evaluation.comparison import compare
    from trimtab.evaluation.report import RequestedMetrics

    names, settings = more
    found = compare(
        [*([run] if run is not None else []), *hypotheses],
        against=against,
        source=source,
        reference=reference,
        beam=DEFAULT_BEAM if beam is None else beam,
        tags=tags or [],
        metrics=RequestedMetrics(names=tuple(names), settings=settings),
    )
    typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if as_json else found.render())
