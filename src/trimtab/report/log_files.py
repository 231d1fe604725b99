"""Logs of a run read as they grow: each line once, numbers as columns, whatever else lies in the file left out."""

import json
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

MOST_RECORDS = 20_000
"""Of a log other than the metrics; of a longer one the newest are kept."""
MOST_COLUMNS = 256
"""Columns of numbers that are kept; no run has as many."""
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

    def read_new(self) -> Iterator[dict[str, Any]]:
        """The records since the last call. A line without an end is left for the next; links, pipes, unreadable and
        missing files have none. Call `has_changed` first."""
        file = open_plain(self.path)
        if file is None:
            return
        with file:
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                if len(line) < _TORN and (record := _record(line)) is not None:
                    yield record

    def has_changed(self) -> bool:
        """Whether there is anything to read; sets `is_new` and starts from the top where the file was cut or replaced,
        or has gone."""
        try:
            now = os.lstat(self.path)
            size, inode = now.st_size, now.st_ino
        except OSError:
            size, inode = 0, 0
        self.is_new = size < self.offset or (self.inode not in (0, inode))
        self.inode = inode
        if self.is_new:
            self.offset = 0
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


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


@dataclass(slots=True)
class Records:
    """The records of a small log, kept as they are."""

    file: LogFile
    kept: deque[dict[str, Any]] = field(default_factory=lambda: deque[dict[str, Any]](maxlen=MOST_RECORDS))

    def refresh(self) -> bool:
        """Reads what is new; says whether anything is."""
        if not self.file.has_changed():
            return False
        if self.file.is_new:
            self.kept.clear()
        self.kept.extend(self.file.read_new())
        return True


@dataclass(slots=True)
class Columns:
    """The numbers of a log by name, one row a record. NaN where a record has none; words other than `nan`, `inf` and
    `-inf` are kept by row."""

    num_rows: int = 0
    _numbers: dict[str, "array[float]"] = field(default_factory=dict[str, "array[float]"])
    words: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])

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
        self.words.clear()
