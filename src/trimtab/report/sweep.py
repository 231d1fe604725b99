"""Many runs as one table: the keys of the recipe in which they differ, how far each is, its best score, its health."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import input_error
from trimtab.report.page import render_page
from trimtab.report.plain_values import is_number
from trimtab.report.recipes import ABSENT, Difference, differences
from trimtab.report.run_data import RunData, open_run
from trimtab.report.run_list import RunRow, check_folder, order_of, row_of, runs_below

MOST_RUNS, MOST_KEYS, MOST_POINTS = 1000, 24, 60
MOST_SCATTERS, FEWEST_VALUES = 8, 3
LOG_FROM = 20.0
"""Ratio of the largest to the smallest value from which a plot has a logarithmic axis."""
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
NOT_COMPARED = ("data.root",)
"""Keys that say where files are, and nothing about training."""


@dataclass(frozen=True, slots=True)
class SweptRun:
    """One run of the table."""

    row: RunRow
    values: Sequence[str]
    """What its recipe says of each key."""
    course: str
    """Its validation score through time as points of a line in a box of 100 by 24; empty with fewer than two."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One run in a scatter plot of 400 by 180."""

    name: str
    x: float
    y: float
    said: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """The best score of the runs by one key of the recipe."""

    key: str
    metric: str
    low: str
    high: str
    """Ends of the axis of the key."""
    lowest: str
    highest: str
    """Ends of the axis of the score."""
    is_log: bool
    dots: Sequence[Dot]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What the page says."""

    folder: str
    keys: Sequence[str]
    left_out: int
    """Keys in which the runs differ and that have no column."""
    runs: Sequence[SweptRun]
    """The best first."""
    scatters: Sequence[Scatter] = ()
    """Of the keys with numbers, as the table has them."""


def sweep_of(folder: Path) -> Sweep:
    """The runs below a folder. Raises InputError where there is none."""
    check_folder(folder)
    paths = runs_below(folder)[:MOST_RUNS]
    if not paths:
        raise input_error(
            f"--sweep: no run in {folder}",
            got="no folder with a recipe.yaml and logs, three levels deep",
            allowed="a folder that contains runs, such as runs/",
            fix="name the folder above your runs; `trimtab runs` lists them",
        )
    runs = [open_run(path, newest_only=True) for path in paths]
    found = [each for each in differences(runs) if each.key not in NOT_COMPARED]
    shown = sorted(found, key=_weight)[:MOST_KEYS]
    rows = [row_of(run) for run in runs]
    swept = [
        SweptRun(row, [each.values[number] for each in shown], course_of(run, row.metric))
        for number, (run, row) in enumerate(zip(runs, rows, strict=True))
    ]
    order = order_of("best")
    swept.sort(key=lambda each: (each.row.best is None, order(each.row)))
    keys = [each.key for each in shown]
    return Sweep(str(folder), keys, len(found) - len(shown), swept, scatters_of(keys, swept))


def scatters_of(keys: Sequence[str], runs: Sequence[SweptRun]) -> list[Scatter]:
    """A plot for each key that has at least three different numbers, of the runs with the metric of the first run."""
    metric = runs[0].row.metric
    scored = [each for each in runs if each.row.metric == metric and each.row.best is not None]
    found = []
    for column, key in enumerate(keys):
        points = [
            (float(each.values[column]), each.row.best, each.row.name)
            for each in scored
            if _NUMBER.fullmatch(each.values[column]) and each.row.best is not None
        ]
        if len({value for value, _, _ in points}) >= FEWEST_VALUES:
            found.append(_scatter(key, metric, points))
    return found[:MOST_SCATTERS]


def _scatter(key: str, metric: str, points: Sequence[tuple[float, float, str]]) -> Scatter:
    values, scores = [value for value, _, _ in points], [score for _, score, _ in points]
    is_log = min(values) > 0 and max(values) / min(values) >= LOG_FROM

    def place(value: float, low: float, high: float) -> float:
        return (value - low) / (high - low) if high > low else 0.5

    axis = [math.log(value) for value in values] if is_log else values
    dots = [
        Dot(
            name,
            round(50 + 340 * place(at, min(axis), max(axis)), 1),
            round(150 - 135 * place(score, min(scores), max(scores)), 1),
            f"{name}: {metric} {score:.4g} at {value:g}",
        )
        for at, (value, score, name) in zip(axis, points, strict=True)
    ]
    ends = [f"{value:g}" for value in (min(values), max(values))]
    return Scatter(
        key, metric, *ends, *(f"{score:.4g}" for score in (min(scores), max(scores))), is_log, dots
    )


def _weight(difference: Difference) -> tuple[bool, bool, int]:
    """Keys that every run has come first, paths of data last, and those with many values before those with few."""
    is_path = difference.key.startswith("data.") and any("/" in value for value in difference.values)
    return is_path, ABSENT in difference.values, -len({*difference.values})


def course_of(run: RunData, metric: str) -> str:
    """The scores of a metric at each evaluation, from the lowest to the highest."""
    known = [each[metric] for each in run.evaluations if is_number(each.get(metric))]
    values = known[:: -(-len(known) // MOST_POINTS)] if known else []
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    scale = 20 / (high - low) if high > low else 0.0
    last = len(values) - 1
    return " ".join(
        f"{100 * at / last:.1f},{22 - (value - low) * scale:.1f}" for at, value in enumerate(values)
    )


def sweep_html(folder: Path) -> str:
    """The page of a sweep, whose table sorts by any column."""
    return render_page("sweep.html", ("templates/sort.js",), sweep=sweep_of(folder))
