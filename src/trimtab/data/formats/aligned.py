"""Two text files, line i of one the translation of line i of the other."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.data.formats.pairs import PlainPairs
from trimtab.data.formats.text import text_of, texts_of
from trimtab.data.lines import Lines, open_lines
from trimtab.errors import input_error


@dataclass(frozen=True, slots=True)
class AlignedPairs(PlainPairs):
    """The pairs of two files of equally many lines."""

    source: Lines
    target: Lines
    fingerprint: str

    def __len__(self) -> int:
        return len(self.source)

    def num_bytes(self, line: int) -> int:
        """Of the longer side."""
        return max(self.source.num_bytes(line), self.target.num_bytes(line))

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The lines, from 0, of which a side has more bytes."""
        return np.union1d(self.source.longer_than(num_bytes), self.target.longer_than(num_bytes))

    def pair(self, line: int) -> tuple[str, str]:
        """Line `line` of both files; InputError if one is not UTF-8."""
        return text_of(self.source, line), text_of(self.target, line)

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines, in their order, read many at a time."""
        return zip(texts_of(self.source, lines), texts_of(self.target, lines), strict=True)

    def raw(self, line: int) -> bytes:
        """Both lines."""
        return b"\t".join([self.source[line], self.target[line]])

    def place(self, line: int) -> str:
        """See `Pairs`."""
        return f"{self.source.path}:{line + 1}"


def open_aligned(source: Path, target: Path, *, cache: Path) -> AlignedPairs:
    """Both files, opened; InputError if they are not equally long, or where one of these is not UTF-8 at all."""
    left, right = open_lines(source, cache=cache), open_lines(target, cache=cache)
    if len(left) != len(right):
        for side in (left, right):  # another encoding has other lines, and is the mistake that matters
            if len(side):
                text_of(side, 0)
        raise input_error(
            f"{source} and {target} have different numbers of lines, so they are not translations of each other",
            got=" and ".join(f"{len(side):,} line{'s' * (len(side) != 1)}" for side in (left, right)),
            allowed="the same number",
            fix="find the first line where they drift apart (often one that is split or lost); only a "
            "newline ends a line",
        )
    fingerprint = hashlib.sha256(f"aligned {left.fingerprint} {right.fingerprint}".encode()).hexdigest()
    return AlignedPairs(left, right, fingerprint)
