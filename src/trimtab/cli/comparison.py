"""The options of `evaluate` that score existing translations and compare systems."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.evaluation.report import RequestedMetrics

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
    beam: int,
    tags: list[str],
    metrics: "RequestedMetrics",
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
    for path in hypotheses:
        if str(path) != "-" and not path.is_file():
            raise input_error(
                f"--hypotheses {path}: no such file",
                got="a folder" if path.is_dir() else "nothing with this name",
                allowed="a text file with a translation a line; - is stdin",
                fix="name a run without --hypotheses" if path.is_dir() else "check the path",
            )
    from trimtab.evaluation.comparison import compare

    found = compare(
        [*([run] if run is not None else []), *hypotheses],
        against=against,
        source=source,
        reference=reference,
        beam=beam,
        tags=tags,
        metrics=metrics,
    )
    typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if as_json else found.render())
