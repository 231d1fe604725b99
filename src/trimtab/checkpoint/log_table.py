"""The logs of a run as columns, for notebooks: a plain dict that pandas, polars and PyArrow take as it is."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.resolve import run_at
from trimtab.config.given_path import path_text
from trimtab.errors import InputError, Problem, input_error

Log = Literal["steps", "evaluations", "health"]
"""`metrics.jsonl`, `evaluations.jsonl` or `health.jsonl` of a run folder."""
FILES: Mapping[Log, str] = {"steps": "metrics", "evaluations": "evaluations", "health": "health"}
NOT_FINITE = frozenset({"nan", "inf", "-inf"})
"""Words for numbers that JSON has none for."""


class LogTable(dict[str, list[Any]]):
    """The values of each column by its name, all of one length, None where a line lacks one.

    It is a dict: `pandas.DataFrame(table)`, `polars.DataFrame(table)` and `pyarrow.table(table)` take it as it is.
    """

    def __repr__(self) -> str:
        return f"LogTable({self.num_rows} rows: {', '.join(self)})"

    @property
    def num_rows(self) -> int:
        """Lines of the log."""
        return len(next(iter(self.values()), ()))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; InputError where pandas is not installed."""
        return _library("pandas").DataFrame(self)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; InputError where PyArrow is not installed."""
        return _library("pyarrow").table(dict(self))


def read_metrics(run: Path | str, *, of: Log = "steps") -> LogTable:
    """What a run recorded, a row for each step, or for each evaluation of each set, or each look at its health.

    The columns are the keys of the log (`step`, `loss`, `learning_rate`, ...). A run may be training meanwhile. Raises
    InputError if there is no such run or log.
    """
    if of not in get_args(Log):
        raise input_error(
            "read_metrics: of", got=repr(of), allowed=", ".join(get_args(Log)), fix='write of="evaluations"'
        )
    folder = run_at(Path(path_text(run, name="run", allowed="the folder of a run")))
    return columns(read_journal(folder.path / f"{FILES[of]}.jsonl"))


def columns(lines: Iterable[Mapping[str, Any]]) -> LogTable:
    """The lines of a log as columns, in the order in which their names first appear."""
    rows = [*lines]
    names = dict.fromkeys(name for row in rows for name in row)
    return LogTable({name: _numbers([row.get(name) for row in rows]) for name in names})


def _numbers(values: list[Any]) -> list[Any]:
    """A column of numbers with those that are not finite as numbers too; other columns stay as they are."""
    texts = {value for value in values if isinstance(value, str)}
    if not texts or not texts <= NOT_FINITE:
        return values
    return [float(value) if isinstance(value, str) else value for value in values]


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise InputError(
            Problem(
                what=f"{name} is not installed",
                fix=f"`pip install {name}`, or use the table as it is: a dict of columns",
            )
        ) from None
