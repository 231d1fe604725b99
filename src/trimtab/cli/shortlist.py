"""`trimtab shortlist`: what makes `translate --shortlist` faster on a CPU."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.arguments import Json, Run
from trimtab.cli.numbers import Range, number_option

First = Annotated[
    int | None,
    number_option(
        "--first",
        Range(least=1),
        help="The most frequent target pieces, which every batch has.",
        fix="leave it out for a sixteenth of the vocabulary",
        show_default="a sixteenth of the vocabulary",
    ),
]
Best = Annotated[
    int,
    number_option(
        "--best",
        Range(least=1),
        help="Likeliest translations of each source piece.",
        fix="50 to 100 is usual; more is slower and misses less",
    ),
]
Pairs = Annotated[
    int,
    number_option(
        "--pairs",
        Range(least=1),
        help="Training pairs to estimate from, at most, spread over the run's corpora.",
        fix="200000 take about a minute",
    ),
]


def shortlist(
    run: Run,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to create; it must not exist yet.")],
    first: First = None,
    best: Best = 100,
    pairs: Pairs = 200_000,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Estimate from this text instead of the run's training pairs."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its translation, line by line.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a shortlist: which target pieces a source may need. It makes translation on a CPU faster.

    Name it when you translate: `trimtab translate RUN --shortlist FILE`.
    """
    from trimtab.shortlisting import build_shortlist

    report = build_shortlist(run, out=out, first=first, best=best, pairs=pairs, source=source, target=target)
    typer.echo(json.dumps(report.to_dict(), indent=2) if as_json else report.render())
