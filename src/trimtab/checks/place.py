"""A range of a file: lines and columns from 1, the end just after the last character."""

from typing import NamedTuple

from trimtab.errors import one_line


class Place(NamedTuple):
    """A stretch of one file. An end of 0 means that only the beginning is known."""

    path: str
    line: int = 1
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{one_line(self.path)}:{self.line}:{self.column}"
