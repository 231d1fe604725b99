"""Pairs from two columns of a Parquet file or of a folder that Hugging Face `datasets` saved.

The two columns are written once into the cache, a JSON array a row, and read from there line by line: random access to
a row of a compressed column would unpack thousands of others, and the memory stays that of one batch.
"""

import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.data.cache import committed, writable_folder
from trimtab.data.formats.arrow import Rows, dataset_rows, parquet_rows
from trimtab.data.formats.pairs import PairFile, PlainPairs
from trimtab.data.lines import Lines, open_lines
from trimtab.errors import input_error

_LAYOUT = "trimtab table 1"
"""Part of every key; another layout of the cached file needs another word here."""


@dataclass(frozen=True, slots=True)
class TablePairs(PlainPairs):
    """The pairs of two columns."""

    path: Path
    """The file or folder that the recipe names."""
    lines: Lines
    fingerprint: str
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Units of the file that are no pairs, such as those without a translation, by reason."""
    line_numbers: Path | None = None
    """Holds the line of each row in its file, 8 bytes a row; None where rows have no lines."""

    def __len__(self) -> int:
        return len(self.lines)

    def num_bytes(self, line: int) -> int:
        """Of both columns together."""
        return self.lines.num_bytes(line)

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The rows, from 0, whose columns have more bytes together."""
        return self.lines.longer_than(num_bytes)

    def pair(self, line: int) -> tuple[str, str]:
        """The two columns of a row; what is no text was refused when the table was opened."""
        source, target = json.loads(self.lines[line])
        return source, target

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these rows, in their order, read many at a time."""
        return ((source, target) for source, target in map(json.loads, self.lines.several(lines)))

    def place(self, line: int) -> str:
        """See `Pairs`."""
        if self.line_numbers is None:
            return f"{self.path}, row {line + 1}"
        (number,) = np.fromfile(self.line_numbers, dtype="<i8", count=1, offset=8 * line)
        return f"{self.path}:{number}"


def open_parquet(path: Path, *, source: str | int, target: str | int, cache: Path) -> TablePairs:
    """A `.parquet` file; a column inside a struct is called `translation.en`.

    Raises InputError if the file or a column is missing, or a row has no text there.
    """
    return open_rows(parquet_rows(path), path, _names(path, source, target), cache)


def open_dataset(
    path: Path, *, split: str | None, source: str | int, target: str | int, cache: Path
) -> TablePairs:
    """A folder that `save_to_disk` wrote, one split of it where it has several; as `open_parquet`."""
    return open_rows(dataset_rows(path, split), path, _names(path, source, target), cache)


def open_rows(rows: Rows, path: Path, columns: tuple[str, str], cache: Path) -> TablePairs:
    """Two columns of any table, from the cache where they were read before; InputError for a row without text."""
    key = _key(rows.files, (*columns, *rows.how))
    spooled = cache / f"{key}.jsonl"
    if not spooled.exists():
        spooled = writable_folder(cache) / f"{key}.jsonl"
    if not spooled.exists():
        with committed(spooled, follows_from_name=True) as file:
            numbers = array("q")
            for row in _checked(rows.read(columns), path, columns):
                file.write(json.dumps(row[:2], ensure_ascii=False).encode() + b"\n")
                numbers.extend(row[2:])
            # Before the rows get their name, so that none are found without them.
            with committed(_counts_of(spooled), follows_from_name=True) as counts:
                counts.write(json.dumps(rows.passed_over).encode())
            if rows.have_lines:
                with committed(_line_numbers_of(spooled), follows_from_name=True) as beside:
                    beside.write(np.asarray(numbers, dtype="<i8").tobytes())
    lines = open_lines(spooled, cache=spooled.parent)
    digest = hashlib.sha256(f"table {lines.fingerprint}".encode()).hexdigest()
    numbers_of = _line_numbers_of(spooled) if rows.have_lines else None
    return TablePairs(path, lines, digest, _stored_counts(_counts_of(spooled)), numbers_of)


def _counts_of(spooled: Path) -> Path:
    """Where it is kept what was passed over."""
    return spooled.with_suffix(".counts.json")


def _line_numbers_of(spooled: Path) -> Path:
    """Where the lines of the rows are kept."""
    return spooled.with_suffix(".line_numbers")


def _stored_counts(path: Path) -> dict[str, int]:
    """Nothing where no counts are kept."""
    try:
        counts = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return counts if isinstance(counts, dict) else {}


def _checked(
    rows: Iterable[tuple[Any, ...]], path: Path, columns: tuple[str, str]
) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(rows, start=1):
        for name, value in zip(columns, row[:2], strict=True):
            if not isinstance(value, str):
                raise input_error(
                    f"{path}: row {number} has no text in the column {name!r}",
                    got="null" if value is None else type(value).__name__,
                    allowed="a string",
                    fix="name a column of text, or remove the row",
                    where=str(path),
                )
        yield row


def _names(path: Path, source: str | int, target: str | int) -> tuple[str, str]:
    for side, name in (("source", source), ("target", target)):
        if isinstance(name, int):
            raise input_error(
                f"{side}: got the number {name}, but {path} has columns with names",
                got=str(name),
                allowed="a name",
                fix="write the name of the column, `translation.en` for a nested one",
            )
    return str(source), str(target)


def _key(files: Iterable[Path], read: Sequence[str]) -> str:
    digest = hashlib.sha256(json.dumps([_LAYOUT, *read]).encode())
    for file in files:
        stat = os.stat(file)
        digest.update(f"{file.name} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}\n".encode())
    return digest.hexdigest()


PARQUET = PairFile((".parquet",), open_parquet, is_compressed=False)
