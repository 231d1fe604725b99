"""Many runs as a table: how far each is, its best score, its health."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trimtab.errors import input_error, reading
from trimtab.metrics.catalogue import METRICS
from trimtab.report.findings import counts_of
from trimtab.report.overview import FINISHED_SHARE, best_of, diverged, share_of
from trimtab.report.run_data import RunData, is_run, open_run

SortKey = Literal["name", "step", "best", "loss", "health", "written"]
MOST_FOLDERS = 10_000
DEEPEST = 3
"""Folders below the given one in which runs are looked for; nothing is looked for inside a run."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run."""

    path: str
    name: str
    task: str
    state: str
    """`training`, `finished`, `stopped` or `empty`."""
    step: int
    length: str
    share: float | None
    loss: float | None
    """Of the newest step."""
    metric: str
    best: float | None
    best_step: int | None
    health: str
    """`good`, `warning` or `error`, by the findings."""
    errors: int
    """Of different codes that hold; a newest loss that is not a number is one more."""
    warnings: int
    written_at: float
    """Seconds since 1970; 0 where nothing was written."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in RunRow.__slots__}


def list_runs(folder: Path, *, sort: SortKey = "name", contains: str = "") -> list[RunRow]:
    """The runs in a folder and in the folders below it, or the run that the folder is.

    `contains` keeps those with this text in their path below the folder, task, state or health. Sorted by `best`,
    the best of each metric come first; by `written` the newest. Raises InputError where there is no such folder.
    """
    check_folder(folder)
    rows = [row_of(open_run(path, newest_only=True)) for path in runs_below(folder)]
    wanted = contains.lower()
    rows = [
        row
        for row in rows
        if wanted in f"{os.path.relpath(row.path, folder)} {row.task} {row.state} {row.health}".lower()
    ]
    return sorted(rows, key=order_of(sort))


def check_folder(folder: Path) -> None:
    """InputError where there is no folder to look for runs in, or it cannot be read."""
    if not os.path.isdir(folder):
        raise input_error(
            f"no such folder: {folder}",
            got="a file" if os.path.exists(folder) else "no file or folder at this path",
            allowed="a folder that contains runs, such as runs/",
            fix="name the folder above your runs",
        )
    with reading(folder):
        os.listdir(folder)


def runs_below(folder: Path) -> list[Path]:
    """The runs in a folder and in those below it, or the run that it is."""
    found, level = list[Path](), [folder]
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for each in level[:MOST_FOLDERS]:
            if is_run(each):
                found.append(each)
                continue
            try:
                below += sorted(
                    Path(entry) for entry in os.scandir(each) if entry.is_dir(follow_symlinks=False)
                )
            except OSError:  # of another user
                continue
        level = below
    return found


def row_of(run: RunData) -> RunRow:
    """The row of a run that was read."""
    share, best, counts = share_of(run), best_of(run), counts_of(run)
    step, loss = run.last("step"), run.last("loss")
    errors = counts["error"] + diverged(run)
    if not run.steps.num_rows:
        state = "empty"
    elif share >= FINISHED_SHARE:
        state = "finished"
    else:
        state = "training" if run.is_training else "stopped"
    return RunRow(
        path=str(run.path),
        name=run.name,
        task=str(run.value("task", "")),
        state=state,
        step=int(step) if math.isfinite(step) else 0,
        length=str(run.value("length", "")),
        share=round(share, 4) if math.isfinite(share) else None,
        loss=loss if math.isfinite(loss) else None,
        metric=best[0] if best else "",
        best=best[1] if best else None,
        best_step=best[2] if best else None,
        health="error" if errors else "warning" if counts["warning"] else "good",
        errors=errors,
        warnings=counts["warning"],
        written_at=run.written_at,
    )


def order_of(sort: SortKey) -> Callable[[RunRow], Any]:
    """What rows are sorted by."""
    match sort:
        case "name":
            return lambda row: row.path
        case "step":
            return lambda row: (-row.step, row.path)
        case "best":
            return lambda row: (row.metric, _rank(row), row.path)
        case "loss":
            return lambda row: (math.inf if row.loss is None else row.loss, row.path)
        case "health":
            return lambda row: (-row.errors, -row.warnings, row.path)
        case "written":
            return lambda row: (-row.written_at, row.path)


def _rank(row: RunRow) -> float:
    """The best first; runs without a score last."""
    if row.best is None:
        return math.inf
    lower = next((each.lower_is_better for each in METRICS if each.name == row.metric), True)
    return row.best if lower else -row.best


def table_of(rows: Sequence[RunRow]) -> str:
    """The rows as text, columns aligned."""
    head = ("run", "state", "step", "of", "loss", "best", "at step", "health")
    cells = [head, *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right = {2, 4, 6}
    return "\n".join(
        "  ".join(
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _cells(row: RunRow) -> tuple[str, ...]:
    counts = [
        f"{n} {what}{'s' if n > 1 else ''}"
        for n, what in ((row.errors, "error"), (row.warnings, "warning"))
        if n
    ]
    return (
        row.path,
        row.state,
        f"{row.step:,}",
        row.length + (f" ({row.share:.0%})" if row.share is not None else ""),
        "" if row.loss is None else f"{row.loss:.3f}",
        "" if row.best is None else f"{row.metric} {row.best:.4g}",
        "" if row.best_step is None else f"{row.best_step:,}",
        ", ".join(counts) or "good",
    )
