"""One file with a pair a line, in columns between tabs; nothing is quoted, so no text can hold a tab."""

import difflib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.data.formats.pairs import PairFile, PlainPairs
from trimtab.data.formats.text import text_of, texts_of
from trimtab.data.lines import Lines, open_lines
from trimtab.errors import input_error


@dataclass(frozen=True, slots=True)
class TsvPairs(PlainPairs):
    """The pairs of two columns."""

    lines: Lines
    source: int
    """Column, from 0."""
    target: int
    num_columns: int
    num_header_lines: int
    fingerprint: str

    def __len__(self) -> int:
        return len(self.lines) - self.num_header_lines

    def num_bytes(self, line: int) -> int:
        """Of the whole line."""
        return self.lines.num_bytes(line + self.num_header_lines)

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The pairs, from 0, whose lines have more bytes."""
        found = self.lines.longer_than(num_bytes) - self.num_header_lines
        return found[found >= 0]

    def pair(self, line: int) -> tuple[str, str]:
        """The two columns, both empty for a blank line; InputError if the line has more or fewer columns than the first
        one of the file that is not blank."""
        if line < 0:
            raise IndexError(line)
        line += self.num_header_lines
        return self._columns(line, text_of(self.lines, line))

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these pairs, in their order, read many at a time."""
        numbers = [line + self.num_header_lines for line in lines]
        return map(self._columns, numbers, texts_of(self.lines, numbers))

    def raw(self, line: int) -> bytes:
        """The line with all its columns."""
        return self.lines[line + self.num_header_lines]

    def place(self, line: int) -> str:
        """See `Pairs`."""
        return f"{self.lines.path}:{line + self.num_header_lines + 1}"

    def _columns(self, line: int, text: str) -> tuple[str, str]:
        columns = text.split("\t")
        if _is_blank(text):
            return "", ""
        if len(columns) != self.num_columns:
            raise input_error(
                f"{self.lines.path}: line {line + 1} has another number of columns than the first",
                got=f"{len(columns)} column{'s' * (len(columns) != 1)}",
                allowed=f"{self.num_columns} columns between tabs",
                fix="repair or remove the line; tabs inside a text must be replaced",
                where=f"{self.lines.path}:{line + 1}",
            )
        return columns[self.source], columns[self.target]


def open_tsv(path: Path, *, source: str | int, target: str | int, cache: Path) -> TsvPairs:
    """Columns by name, from the first line that is not blank, or by number from 1, in a file without names."""
    lines = open_lines(path, cache=cache)
    number, text = _first_line(lines)
    first = text.split("\t") if text else []
    named = isinstance(source, str) or isinstance(target, str)
    places = [
        _column(column, first, place=f"{path}:{number + 1}", path=path, side=side)
        for side, column in (("source", source), ("target", target))
    ]
    num_header_lines = number + 1 if named and first else 0
    key = f"tsv {lines.fingerprint} {places} {named}"
    return TsvPairs(
        lines,
        places[0],
        places[1],
        len(first),
        num_header_lines,
        hashlib.sha256(key.encode()).hexdigest(),
    )


def _first_line(lines: Lines) -> tuple[int, str]:
    """The first line that is not blank, with its number from 0; an empty text where there is none."""
    for number in range(len(lines)):
        if not _is_blank(text := text_of(lines, number)):
            return number, text
    return 0, ""


def _is_blank(text: str) -> bool:
    return not text or (text.isspace() and "\t" not in text)


def _column(column: str | int, first: list[str], *, place: str, path: Path, side: str) -> int:
    if not first:  # an empty file, which the corpus reports
        return 0
    if isinstance(column, int):
        if 1 <= column <= len(first):
            return column - 1
        raise input_error(
            f"{side}: {path} has no column {column}",
            got=f"{len(first)} columns in the first line",
            allowed=f"1 to {len(first)}",
            fix="columns are counted from 1, and end at a tab",
            where=place,
        )
    names = [name.strip() for name in first]
    if names.count(column) == 1:
        return names.index(column)
    if column in names:
        several = [number for number, name in enumerate(names, 1) if name == column]
        raise input_error(
            f"{side}: {path} has several columns {column!r}",
            got=f"columns {', '.join(map(str, several))} of the first line",
            allowed="a name that one column has",
            fix="rename all but one in the first line",
            where=place,
        )
    near = difflib.get_close_matches(column, names, n=len(names), cutoff=0.0)
    fix = f"did you mean {near[0]}?" if difflib.get_close_matches(column, names, n=1) else ""
    raise input_error(
        f"{side}: {path} has no column {column!r}",
        got=repr(column),
        allowed=_cut(", ".join(near)),
        fix=fix or "columns by number, such as 1, are for files without names in the first line",
        where=place,
    )


def _cut(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."


FORMAT = PairFile((".tsv",), open_tsv)
