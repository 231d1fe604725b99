"""Pairs whose source words have factors behind them, read from files beside the pairs."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.data.formats.pairs import Pairs
from trimtab.data.formats.text import text_of, texts_of
from trimtab.data.lines import Lines, open_lines
from trimtab.data.source_factors import SEPARATOR, misaligned, with_factors
from trimtab.errors import Problem, input_error


@dataclass(frozen=True, slots=True)
class FactoredPairs:
    """The pairs of a corpus with `word|value` in place of each source word."""

    pairs: Pairs
    files: tuple[Lines, ...] = ()
    """One for each factor, in the order of the recipe."""
    separator: str = ""
    """What separates the factors from their word in the source itself, where they are not in files."""
    columns: int = 0
    """How many they are there."""

    @property
    def num_factors(self) -> int:
        """How many values follow each word."""
        return len(self.files) or self.columns

    @property
    def fingerprint(self) -> str:
        """Of the pairs and of the values."""
        marks = [self.pairs.fingerprint, *(each.fingerprint for each in self.files)]
        return hashlib.sha256(f"factored {self.separator} {' '.join(marks)}".encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.pairs)

    def num_bytes(self, line: int) -> int:
        """Of the pair, or of the longest line of values where that has more."""
        return max([self.pairs.num_bytes(line), *(each.num_bytes(line) for each in self.files)])

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The lines, from 0, of which the pair or the values have more bytes."""
        found = self.pairs.longer_than(num_bytes)
        for each in self.files:
            found = np.union1d(found, each.longer_than(num_bytes))
        return found

    def pair(self, line: int) -> tuple[str, str]:
        """Source with its factors, and target; InputError where they are not aligned."""
        return self._joined(line, self.pairs.pair(line), [text_of(each, line) for each in self.files])

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines, in their order."""
        read = (self.pairs.several(lines), *(texts_of(each, lines) for each in self.files))
        for line, (pair, *columns) in zip(lines, zip(*read, strict=True), strict=True):
            yield self._joined(line, pair, columns)

    def before(self, line: int, count: int) -> list[tuple[str, str]]:
        """None: factors are refused beside documents."""
        return []

    def place(self, line: int) -> str:
        """See `Pairs`."""
        return self.pairs.place(line)

    def raw(self, line: int) -> bytes:
        """See `Pairs`."""
        return self.pairs.raw(line)

    @property
    def passed_over(self) -> Mapping[str, int]:
        """See `Pairs`."""
        return self.pairs.passed_over

    @property
    def empty_documents(self) -> list[int]:
        """See `Pairs`."""
        return self.pairs.empty_documents

    @property
    def broken_documents(self) -> list[tuple[int, Problem]]:
        """See `Pairs`."""
        return self.pairs.broken_documents

    def _joined(self, line: int, pair: tuple[str, str], columns: Sequence[str]) -> tuple[str, str]:
        source, target = pair
        if self.separator:
            return self._written(line, source), target
        if (found := with_factors(source, columns)) is None:
            files = [str(each.path) for each in self.files]
            raise misaligned(source, columns, files=files, line=line + 1, place=self.place(line))
        return found, target

    def _written(self, line: int, source: str) -> str:
        words = [word.rsplit(self.separator, self.columns) for word in source.split()]
        for word in words:
            if len(word) <= self.columns or not all(word):
                raise input_error(
                    f"{self.place(line)}: a word has other source factors than those of the first line",
                    got=repr(self.separator.join(word)[:80]),
                    allowed=self.separator.join(["word", *["value"] * self.columns]),
                    fix="give each word as many values",
                    where=self.place(line),
                )
        return " ".join(SEPARATOR.join(word) for word in words)


def open_written(pairs: Pairs, separator: str) -> FactoredPairs:
    """The pairs of a corpus that has factors behind its source words, as many as behind the first word of all;
    InputError where there are none."""
    words = (word for line in range(len(pairs)) for word in pairs.pair(line)[0].split())
    first = next(words, "")
    if (columns := first.count(separator)) == 0:
        raise input_error(
            f"factor_separator: the first word of {pairs.place(0)} has no source factor",
            got=repr(first[:80]),
            allowed=f"`word{separator}value`",
            fix="name the separator that the file has, or files of `factors`",
        )
    return FactoredPairs(pairs, separator=separator, columns=columns)


def open_factored(pairs: Pairs, paths: Mapping[str, Path], *, cache: Path) -> FactoredPairs:
    """The pairs with the factors in these files; InputError if one has more or fewer lines than there are pairs."""
    files = {name: open_lines(path, cache=cache) for name, path in paths.items()}
    for name, lines in files.items():
        if len(lines) != len(pairs):
            raise input_error(
                f"factors.{name}: {lines.path} and its corpus have different numbers of lines",
                got=f"{len(lines):,} lines for {len(pairs):,} pairs",
                allowed="one line for each pair, with one value for each source word",
                fix="regenerate the factors from this text",
            )
    return FactoredPairs(pairs, tuple(files.values()))
