"""Columns of Parquet files and of Arrow files, read batch by batch through the library pyarrow.

A folder of `datasets.save_to_disk` is Arrow streams beside a `state.json` that names them, and with several splits a
`dataset_dict.json` beside a folder for each; so the library `datasets` itself is not needed.
"""

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from trimtab.data.input_file import open_input
from trimtab.errors import InputError, input_error

_BATCH_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Rows:
    """The files of a table, and how to read columns of them."""

    files: tuple[Path, ...]
    read: Callable[[tuple[str, str]], Iterator[tuple[Any, ...]]]
    """Values of two columns, row by row, and after them the line of the file, from 1, where the rows have lines;
    InputError for a column that is not there, for a file that is damaged, and where the library that reads it is not
    installed."""
    how: tuple[str, ...] = ()
    """What else the rows follow from."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """How many units `read` has left out, by reason."""
    have_lines: bool = False
    """Whether `read` gives the line where each row begins in its file."""


def parquet_rows(path: Path) -> Rows:
    """A Parquet file. Raises InputError if it cannot be opened; what is damaged or missing is reported on
    reading."""
    open_input(path).close()  # says what is wrong with a path

    def read(columns: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
        with _damage(path):
            file = _library("pyarrow.parquet").ParquetFile(path)
            tops = _tops(columns, file.schema_arrow, path)
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=tops):
                yield from _rows(batch, columns, path)

    return Rows((path,), read)


def dataset_rows(path: Path, split: str | None) -> Rows:
    """A folder that `datasets.Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote.

    Raises InputError for a folder that is none, a split that is not in it or not named, rows in another order than that
    of the files, and a file that cannot be opened.
    """
    folder = _of_split(path, split)
    state = _read_json(folder / "state.json", path)
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise input_error(
            f"{folder}: its rows are not in the order of its files",
            got="a list of indices in state.json",
            allowed="rows as the files have them",
            fix="save it again after flatten_indices()",
        )
    try:
        files = tuple(folder / each["filename"] for each in state["_data_files"])
    except (KeyError, TypeError):
        raise _no_dataset(path, "state.json without _data_files") from None
    for file in files:
        open_input(file).close()

    def read(columns: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
        arrow = _library("pyarrow")
        for file in files:
            with _damage(file), arrow.memory_map(str(file)) as mapped:
                stream = arrow.ipc.open_stream(mapped)
                _tops(columns, stream.schema, path)
                for batch in stream:
                    for start in range(0, batch.num_rows, _BATCH_ROWS):
                        yield from _rows(batch.slice(start, _BATCH_ROWS), columns, path)

    return Rows(files, read)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turns pyarrow's complaints about a file into an InputError."""
    arrow = _library("pyarrow")
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        raise input_error(
            f"{path}: the file is damaged",
            got=" ".join(str(error).split())[:200],
            allowed="an intact Parquet or Arrow file",
            fix="fetch it again",
        ) from None


def _rows(batch: Any, columns: Sequence[str], path: Path) -> Iterator[tuple[Any, Any]]:
    left, right = (_column(batch, name, path).to_pylist() for name in columns)
    return zip(left, right, strict=True)


def _column(batch: Any, name: str, path: Path) -> Any:
    if name in batch.schema.names:
        return batch.column(name)
    top, *inside = name.split(".")
    array, kind = batch.column(top), batch.schema.field(top).type
    for part in inside:
        fields = [kind.field(place).name for place in range(kind.num_fields)]
        if part not in fields:
            raise _no_column(path, name, [f"{top}.{field}" for field in fields] or [top])
        kind = kind.field(part).type
        array = _library("pyarrow.compute").struct_field(array, part)
    return array


def _tops(columns: Sequence[str], schema: Any, path: Path) -> list[str]:
    """The outermost columns that are needed."""
    tops = [name if name in schema.names else name.split(".")[0] for name in columns]
    for name, top in zip(columns, tops, strict=True):
        if top not in schema.names:
            raise _no_column(path, name, list(schema.names))
    return list(dict.fromkeys(tops))


def _of_split(path: Path, split: str | None) -> Path:
    if (path / "dataset_dict.json").is_file():
        splits = _read_json(path / "dataset_dict.json", path).get("splits", [])
        if split in splits:
            return path / str(split)
        raise input_error(
            f"{path}: has several splits" if split is None else f"{path}: has no split {split!r}",
            got=split or "no split",
            allowed=", ".join(map(str, splits)),
            fix=f"write split: {splits[0]}" if splits else "save the dataset again",
        )
    if not (path / "state.json").is_file():
        raise _no_dataset(path, "a folder without state.json" if path.is_dir() else "no folder")
    if split is not None:
        raise input_error(f"{path}: has no splits", got=split, allowed="no split", fix="leave `split` out")
    return path


def _no_dataset(path: Path, got: str) -> InputError:
    return input_error(
        f"{path}: not a dataset on disk",
        got=got,
        allowed="a folder that save_to_disk of `datasets` wrote",
        fix="for a Parquet file write pairs: FILE.parquet",
    )


def _no_column(path: Path, name: str, names: Sequence[str]) -> InputError:
    near = difflib.get_close_matches(name, names, n=1)
    return input_error(
        f"{path}: has no column {name!r}",
        got=name,
        allowed=", ".join(names)[:300],
        fix=f"did you mean {near[0]}?" if near else "name one of these; `translation.en` is a nested one",
    )


def _read_json(path: Path, named: Path) -> dict[str, Any]:
    with open_input(path) as file:
        try:
            value = json.loads(file.read())
        except ValueError as error:
            raise input_error(
                f"{path}: not valid JSON", got=str(error), fix="save the dataset again"
            ) from None
    if not isinstance(value, dict):
        raise _no_dataset(named, f"{path.name} that is no object")
    return value


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise input_error(
            "the library that reads Parquet and Arrow files is not installed",
            got=f"no module {name}",
            fix='pip install "trimtab[arrow]"',
        ) from None
