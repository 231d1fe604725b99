"""`trimtab report` and `trimtab watch`: a run as a page, in one file or live."""

import sys
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
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of runs; several are compared. They may still be training."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The page to write; by default report.html in the folder of the first run."
        ),
    ] = None,
) -> None:
    """Write a run, or several beside one another, as one HTML file.

    The file loads nothing and can be sent or archived: findings with their pages, curves, samples, data, checkpoints,
    the recipe. For a run that is still training, `trimtab watch` shows the same page live.
    """
    if len(runs) > MOST_RUNS:
        raise input_error(
            "report: too many runs for one page",
            got=f"{len(runs)} runs",
            allowed=f"1 to {MOST_RUNS}",
            fix="name fewer; `trimtab runs` lists many runs as a table",
        )
    from trimtab.report.page import write_page
    from trimtab.report.run_data import open_run

    read = [open_run(each) for each in runs]
    place = out if out is not None else runs[0] / "report.html"
    check_output(place, inputs={}, models=[str(each) for each in runs], option="--out")
    try:
        num_bytes = write_page(read, place)
    except OSError as error:
        raise not_writable(place, error, option="--out") from None
    typer.echo(f"{place}: {num_bytes / 1000:,.0f} kB; open it in a browser")


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, which may be training.")],
    port: Annotated[
        int,
        number_option(
            "--port", Range(least=0, most=65_535), help="Port; 0 takes a free one.", fix="8090 is usual"
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
