"""Logs of a run read as they grow: each line once, numbers as columns, whatever else lies in the file left out."""

import math
import os
import stat
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trimtab.checkpoint.journal import record_in

MOST_RECORDS = 20_000
"""Of a log other than the metrics; of a longer one the newest are kept."""
MOST_COLUMNS = 256
"""Columns of numbers that are kept; no run has as many."""
MOST_BROKEN = 3
"""Lines without a record that are named."""
NOT_FINITE = ("nan", "inf", "-inf")
_TORN = 64 * 2**20
"""A line that is longer than this is no record."""
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(slots=True)
class LogFile:
    """One log and how far it was read."""

    path: Path
    offset: int = 0
    inode: int = 0
    is_new: bool = False
    """Whether the file at hand is not the one that was read before, as after a resume; what was read is void."""
    num_lines: int = 0
    """Whole lines that were read."""
    broken: list[int] = field(default_factory=list[int])
    """The first lines that hold something else than a record, by number."""
    num_broken: int = 0
    is_readable: bool = True
    """Whether it was a plain file that may be read, or missing, at the last look."""

    def read_new(self) -> Iterator[dict[str, Any]]:
        """The records since the last call. A line without an end is left for the next; links, pipes, unreadable and
        missing files have none. Call `has_changed` first."""
        file = open_plain(self.path)
        self.is_readable = file is not None or not os.path.lexists(self.path)
        if file is None:
            return
        with file:
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                self.num_lines += 1
                record = record_in(line) if len(line) < _TORN else None
                if record is not None:
                    yield record
                elif line.strip():  # a resume ends a torn line with a break, which may leave an empty one
                    self._note_broken()

    @property
    def problems(self) -> list[str]:
        """What could not be read of it, in sentences."""
        name = self.path.name
        if not self.is_readable:
            return [f"`{name}` cannot be read, so nothing of it is shown: make it a readable, plain file."]
        if not self.num_broken:
            return []
        lines = ", ".join(f"{each:,}" for each in self.broken)
        what = f"Line {lines} of `{name}` is no JSON object and was left out."
        if self.num_broken > 1:
            what = f"{self.num_broken:,} lines of `{name}` are no JSON objects and were left out, the first at {lines}."
        return [f"{what} A killed process or a full disk leaves such lines."]

    def _note_broken(self) -> None:
        self.num_broken += 1
        if len(self.broken) < MOST_BROKEN:
            self.broken.append(self.num_lines)

    def has_changed(self) -> bool:
        """Whether there is anything to read; sets `is_new` and starts from the top where the file was cut or replaced.
        Of a file that has gone, what was read stays."""
        try:
            now = os.lstat(self.path)
        except OSError:
            self.is_new = False
            return False
        size, inode = now.st_size, now.st_ino
        self.is_new = size < self.offset or (self.inode not in (0, inode))
        self.inode = inode
        if self.is_new:
            self.offset = self.num_lines = self.num_broken = 0
            self.broken.clear()
        return self.is_new or size > self.offset


def open_plain(path: Path) -> BinaryIO | None:
    """A plain file, opened to read; None for links, pipes, folders and what is missing or unreadable."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return open(descriptor, "rb")


@dataclass(slots=True)
class Records:
    """The records of a small log, kept as they are."""

    file: LogFile
    kept: deque[dict[str, Any]] = field(default_factory=lambda: deque[dict[str, Any]](maxlen=MOST_RECORDS))

    def refresh(self) -> bool:
        """Reads what is new; says whether anything is."""
        if not self.file.has_changed():
            return False
        could = self.file.is_readable
        if self.file.is_new:
            self.kept.clear()
        self.kept.extend(self.file.read_new())
        return could or self.file.is_readable


@dataclass(slots=True)
class Columns:
    """The numbers of a log by name, one row a record. NaN where a record has none; words other than `nan`, `inf` and
    `-inf` are kept by row."""

    num_rows: int = 0
    _numbers: dict[str, "array[float]"] = field(default_factory=dict[str, "array[float]"])
    words: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])
    _not_finite: dict[str, "array[int]"] = field(default_factory=dict[str, "array[int]"])
    """The rows in which a name has a number that is not finite."""

    def extend(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Adds a row for each record."""
        numbers = self._numbers
        for record in records:
            for name, value in record.items():
                if value.__class__ is not float:
                    value = self._number(name, value)
                    if value is None:
                        continue
                column = numbers.get(name)
                if column is None:
                    if len(numbers) >= MOST_COLUMNS:
                        continue
                    column = numbers[name] = array("d")
                if len(column) < self.num_rows:
                    column.extend([math.nan] * (self.num_rows - len(column)))
                column.append(value)
                if value - value != 0.0:  # faster than isfinite for each of millions
                    self._not_finite.setdefault(name, array("q")).append(self.num_rows)
            self.num_rows += 1

    def _number(self, name: str, value: Any) -> float | None:
        """The value as a number; None for anything else, of which words are kept."""
        if isinstance(value, int):
            try:
                return float(value)
            except OverflowError:  # JSON has whole numbers of any size
                return math.inf
        if isinstance(value, str):
            if value in NOT_FINITE:
                return float(value)
            self.words.setdefault(name, {})[self.num_rows] = value
        return None

    def column(self, name: str) -> np.ndarray:
        """The numbers of a name, one a row."""
        found = np.full(self.num_rows, np.nan)
        values = np.array(self._numbers.get(name, ()), dtype=np.float64)
        found[: len(values)] = values
        return found

    def not_finite(self, name: str) -> np.ndarray:
        """The rows that have a number of this name which is NaN or infinite; a row without one is none of them."""
        return np.array(self._not_finite.get(name, ()), dtype=np.int64)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    @property
    def names(self) -> list[str]:
        """The columns of numbers, in the order in which they first appear."""
        return list(self._numbers)

    def clear(self) -> None:
        """Forgets everything."""
        self.num_rows = 0
        self._numbers.clear()
        self._not_finite.clear()
        self.words.clear()
