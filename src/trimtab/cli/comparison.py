"""The options of `evaluate` that score existing translations and compare systems."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import DEFAULT_BEAM
from trimtab.cli.output_place import check_output
from trimtab.cli.streams import opened_output
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

Table = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write a TSV with one row per line: source, reference, and each system's translation with its chrF.",
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
    table: Path | None,
    as_json: bool,
) -> None:
    """Prints the comparison; InputError for files that are missing among the options or on the disk, and for options
    that would count for nothing."""
    names_of_systems = [name for name in (run, against) if name is not None]
    read = {"--source": source, "--reference": reference}
    read |= {f"--hypotheses {path}": path for path in hypotheses}
    read |= {"--against": Path(against)} if against is not None and _is_text(against) else {}
    check_output(table, inputs=read, models=names_of_systems, option="--table")
    reference = _checked_reference(run, hypotheses, against=against, reference=reference)
    given = "--tag" if tags else "--beam" if beam is not None else ""
    if given and all(name is None or _is_text(name) for name in (run, against)):
        raise input_error(
            f"{given}: there is no model that would translate",
            got="files of translations alone",
            allowed="a MODEL with it, or neither",
            fix="leave it out",
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
    if table is not None:
        assert found.texts is not None
        with opened_output(table, option="--table") as file:
            file.write(found.texts.side_by_side())
    typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if as_json else found.render())


def _checked_reference(
    run: str | None, hypotheses: list[Path], *, against: str | None, reference: Path | None
) -> Path:
    """The reference, where everything that is compared is named and there."""
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
    return reference


def _is_text(name: str) -> bool:
    return name == "-" or Path(name).is_file()
