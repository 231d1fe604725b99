"""A text with its source factors, `word|value`, as a stream of lines: from files beside it, or as it is written."""

from collections.abc import Mapping

from trimtab.data.source_factors import misaligned, split_words, with_factors
from trimtab.decode.reading import BinaryLines, read_lines
from trimtab.errors import input_error


class FactoredLines:
    """`BinaryLines` of a text whose words have the values in files behind them; read line by line."""

    def __init__(self, lines: BinaryLines, files: Mapping[str, BinaryLines], *, name: str) -> None:
        self.name, self.paths, self.number = name, list(files), 0
        self._lines = read_lines(lines, name=name)
        self._columns = [read_lines(file, name=path) for path, file in files.items()]

    def readline(self, size: int, /) -> bytes:
        """The next line with its factors, however long; InputError, with the line, where they do not fit."""
        source, columns = next(self._lines, None), [next(each, None) for each in self._columns]
        ends = [each is None for each in (source, *columns)]
        if all(ends):
            return b""
        self.number += 1
        if any(ends):
            names = [self.name, *self.paths]
            raise input_error(
                f"{names[ends.index(True)]}: ends before {names[ends.index(False)]}",
                got=f"no line {self.number}",
                allowed="as many lines as the text has",
                fix="regenerate the factors from this text",
                where=f"{names[ends.index(True)]}:{self.number}",
            )
        text, values = source or "", [each or "" for each in columns]
        if (found := with_factors(text, values)) is None:
            place = f"{self.name}:{self.number}"
            raise misaligned(text, values, files=self.paths, line=self.number, place=place)
        return found.encode() + b"\n"


class WrittenFactors:
    """`BinaryLines` of a text that has the values of `count` factors behind its words; read line by line."""

    def __init__(self, lines: BinaryLines, count: int, *, name: str) -> None:
        self.name, self.number, self._count = name, 0, count
        self._lines = read_lines(lines, name=name)

    def readline(self, size: int, /) -> bytes:
        """The next line, however long; InputError, with the line, where a word lacks its values."""
        line = next(self._lines, None)
        if line is None:
            return b""
        self.number += 1
        split_words(line, self._count, place=(self.name, self.number))
        return line.encode() + b"\n"
