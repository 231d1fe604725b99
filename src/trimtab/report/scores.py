"""The newest scores of each validation set, beside the best that there were."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.metrics.catalogue import METRICS
from trimtab.report.log_files import NOT_FINITE
from trimtab.report.plain_values import count, is_number
from trimtab.report.run_data import RunData

MOST_SETS, MOST_COLUMNS = 500, 12
DIGITS = 4
"""Of a number that is no metric of the catalogue."""
_NO_SCORES = {"step", "lines", "images", "seconds"}


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One metric of a set."""

    value: str
    """At the newest evaluation that has it."""
    number: float | None
    """The same to sort by; None where it is not finite or missing."""
    best: str
    """The best value and its step; empty where the newest is the best, or where better has no direction."""


@dataclass(frozen=True, slots=True)
class SetScores:
    """One validation set."""

    name: str
    step: int
    """Of its newest evaluation."""
    cells: Sequence[ScoreCell]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The sets of a run in rows, its metrics in columns."""

    columns: Sequence[str]
    rows: Sequence[SetScores]
    left_out: int
    """Sets beyond the first 500."""


def scores_of(run: RunData) -> ScoreTable | None:
    """The scores of a run; None before its first evaluation."""
    by_set: dict[str, list[Mapping[str, Any]]] = {}
    for each in run.evaluations:
        by_set.setdefault(str(each.get("set", ""))[:200], []).append(each)
    written = dict.fromkeys(
        key for each in run.evaluations for key, value in each.items() if _is_score(value)
    )
    known = {metric.name: metric for metric in METRICS if metric.name in written}
    names = [*known, *(name for name in written if name not in known and name not in _NO_SCORES)][
        :MOST_COLUMNS
    ]
    if not names:
        return None
    rows = [
        SetScores(
            name, count(those[-1].get("step")), [_cell(those, metric, known.get(metric)) for metric in names]
        )
        for name, those in [*by_set.items()][:MOST_SETS]
    ]
    labels = [known[name].label if name in known else name[:60] for name in names]
    return ScoreTable(labels, rows, len(by_set) - len(rows))


def _cell(those: Sequence[Mapping[str, Any]], name: str, metric: Any) -> ScoreCell:
    values = [(each[name], count(each.get("step"))) for each in those if _is_score(each.get(name))]
    if not values:
        return ScoreCell("–", None, "")
    newest = values[-1][0]
    number = float(newest) if is_number(newest) else None
    finite = [each for each in values if is_number(each[0])]
    best = ""
    if metric is not None and finite:
        value, step = (min if metric.lower_is_better else max)(finite, key=lambda each: each[0])
        best = f"{_shown(value, metric)} at {step:,}" if number is None or value != newest else ""
    return ScoreCell(_shown(newest, metric), number, best)


def _shown(value: Any, metric: Any) -> str:
    if not is_number(value):
        return str(value)
    return f"{value:.{metric.digits}f}" if metric is not None else f"{value:.{DIGITS}g}"


def _is_score(value: Any) -> bool:
    """A number or one of the words that stand for those that are not finite; Python reads some of them from JSON."""
    return is_number(value) or value in NOT_FINITE or isinstance(value, float)
