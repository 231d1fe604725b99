"""`trimtab report` and `trimtab watch`: a run as a page, in one file or live."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.numbers import Range, number_option
from trimtab.cli.output_place import check_output, not_writable
from trimtab.errors import input_error

if TYPE_CHECKING:
    from trimtab.report.watch import WatchService
    from trimtab.serving.server import RunningServer

MOST_RUNS = 8
"""Curves of more runs have no colours left to tell them apart by."""


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...", help="Folders of runs; several are compared. They may still be training."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page to write; by default, report.html in the first folder.",
        ),
    ] = None,
    sweep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Tabulate all runs below DIR, with their differing keys and best scores."
        ),
    ] = None,
    lab: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Show the results of the experiments in DIR: each claim and its verdict."
        ),
    ] = None,
) -> None:
    """Write a run, several runs, a sweep or experiments as one HTML file.

    The file loads nothing and can be sent or archived: findings with their pages, curves, samples, data, checkpoints,
    the recipe. For a run that is still training, `trimtab watch` shows the same page live.
    """
    runs = runs or []
    given = [name for name, value in (("RUN", runs), ("--sweep", sweep), ("--lab", lab)) if value]
    if len(given) != 1:
        raise input_error(
            "report: name one thing to report" if given else "report: nothing to report",
            got=" and ".join(given) or "no run",
            allowed="runs, or `--sweep DIR`, or `--lab DIR`",
            fix="write `trimtab report RUN`, or `trimtab report --sweep runs`",
        )
    if sweep is not None or lab is not None:
        _report_folder(sweep=sweep, lab=lab, out=out)
        return
    if len(runs) > MOST_RUNS:
        raise input_error(
            "report: too many runs for one page",
            got=f"{len(runs)} runs",
            allowed=f"1 to {MOST_RUNS}",
            fix="name fewer, or write `trimtab report --sweep DIR` for the folder above them",
        )
    from trimtab.report.page import write_page
    from trimtab.report.run_data import open_run

    read = [open_run(each) for each in runs]
    place = out if out is not None else runs[0] / "report.html"
    check_output(place, inputs={}, models=[str(each) for each in runs], option="--out")
    _write(lambda: write_page(read, place), place)


def _report_folder(*, sweep: Path | None, lab: Path | None, out: Path | None) -> None:
    from trimtab.report.page import write_html

    if sweep is not None:
        from trimtab.report.sweep import sweep_html

        folder, html = sweep, sweep_html(sweep)
    else:
        from trimtab.lab.report import lab_html

        folder = lab or Path()
        html = lab_html(folder)
    place = out if out is not None else folder / "report.html"
    check_output(place, inputs={}, models=[], option="--out")
    _write(lambda: write_html(html, place), place)


def _write(write: Callable[[], int], place: Path) -> None:
    try:
        num_bytes = write()
    except OSError as error:
        raise not_writable(place, error, option="--out") from None
    typer.echo(f"{place}: {num_bytes / 1000:,.0f} kB; open it in a browser")


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, which may be training.")],
    port: Annotated[
        int,
        number_option(
            "--port", Range(least=0, most=65_535), help="Port; 0 picks a free one.", fix="8090 is usual"
        ),
    ] = 8090,
) -> None:
    """Show a run live in the browser while it trains.

    The page is served to this machine alone and only read; Ctrl-C stops it. On a remote machine, forward the port:
    `ssh -L 8090:localhost:8090 HOST`.
    """
    from trimtab.report.watch import watch as watched

    watched(run, port=port, ready=lambda server: _tell(server, run))


def _tell(server: "RunningServer[WatchService]", run: Path) -> None:
    print(f"{run} live at {server.url}   (Ctrl-C stops)", file=sys.stderr, flush=True)
