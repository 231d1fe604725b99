"""Offsets in a text as lines and columns, both from 1; a line ends at `\\n`, `\\r\\n` or `\\r`, as in editors."""

import re
from bisect import bisect_right
from itertools import accumulate

from trimtab.checks.place import Place

_BREAK = re.compile(r"\r\n|\r|\n")


class Lines:
    """The lines of one text."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.starts = _starts(text)
        """Offset of each line's first character."""

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, number: int) -> str:
        """The characters of one line, without its end; empty for one that is not there."""
        if not 0 < number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def place(self, start: int, end: int) -> Place:
        """The stretch from one character to just before another."""
        return Place(self.path, *self.position(start), *self.position(end))

    def where(self, offset: int) -> str:
        """`path:line:column`, for messages."""
        line, column = self.position(offset)
        return f"{self.path}:{line}:{column}"


def _starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(found.end() for found in _BREAK.finditer(text))]
    ends = accumulate(len(line) + 1 for line in text.split("\n"))
    return [0, *ends][:-1]
