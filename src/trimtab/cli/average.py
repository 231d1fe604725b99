"""`trimtab average`: the mean of several checkpoints, a moving average, or a greedy soup."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trimtab.cli.arguments import Json
from trimtab.cli.numbers import Range, number_option
from trimtab.errors import input_error
from trimtab.metrics.catalogue import METRICS, OF_THE_LOSS, OF_TRANSLATIONS

if TYPE_CHECKING:
    from trimtab.averaging.report import AverageReport


def _either(*names: str) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


Ema = Annotated[
    bool, typer.Option("--ema", help="Use the run's moving average (step.ema) instead of its weights.")
]
Soup = Annotated[
    bool,
    typer.Option(
        "--soup", help="Greedy soup: add checkpoints by score while the validation score does not fall."
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help=f"{_either('loss', *OF_TRANSLATIONS)}; of language models {_either(*OF_THE_LOSS)} too; by default "
        "`evaluate.best.metric`.",
    ),
]


def average(
    checkpoints: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKPOINT ...",
            help="RUN@500 RUN@1000 ..., one RUN with --last or --ema, or several runs.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the average, which can be used like a run.")
    ],
    last: Annotated[
        int | None,
        number_option(
            "--last",
            Range(least=2),
            help="Average the newest N checkpoints of the run.",
            fix="ask for at least 2; `checkpoint.keep` says how many a run keeps",
        ),
    ] = None,
    ema: Ema = False,
    soup: Soup = False,
    metric: MetricName = None,
    across_starts: Annotated[
        str,
        typer.Option(
            metavar="REASON", help="Average runs with different initial weights anyway, and say why."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Average the weights of checkpoints, and report the gain on the validation sets."""
    options = {"out": out, "last": last, "metric": _known(metric), "across_starts": across_starts}
    report = _cooked(checkpoints, ema=ema, **options) if soup else _averaged(checkpoints, ema=ema, **options)
    typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) if as_json else report.render())


def _averaged(checkpoints: list[str], **options: Any) -> "AverageReport":
    from trimtab.averaging.average import average as averaged

    return averaged(checkpoints, **options)


def _cooked(checkpoints: list[str], *, ema: bool, **options: Any) -> "AverageReport":
    from trimtab.averaging.soup import greedy_soup

    return greedy_soup(checkpoints, weights="ema" if ema else None, **options)


def _known(metric: str | None) -> str | None:
    """InputError for a measure that there is not."""
    known = [each.name for each in METRICS]
    if metric is None or metric in known:
        return metric
    raise input_error(
        "--metric: unknown",
        got=metric,
        allowed=", ".join(known),
        fix="leave it out for the run's own",
    )
