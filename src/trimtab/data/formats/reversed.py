"""The same pairs read the other way."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.data.formats.pairs import Pairs, PlainPairs


@dataclass(frozen=True, slots=True)
class ReversedPairs(PlainPairs):
    """Pairs whose target is the source; the files and their index are those of `pairs`, with which what is passed over
    and what is broken is counted."""

    pairs: Pairs

    @property
    def fingerprint(self) -> str:
        """Of the contents and of the direction."""
        return hashlib.sha256(f"reversed {self.pairs.fingerprint}".encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.pairs)

    def num_bytes(self, line: int) -> int:
        """As read the other way."""
        return self.pairs.num_bytes(line)

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """As read the other way."""
        return self.pairs.longer_than(num_bytes)

    def pair(self, line: int) -> tuple[str, str]:
        """Target and source of a line; InputError if it is malformed."""
        source, target = self.pairs.pair(line)
        return target, source

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """Target and source of each of these lines, in their order."""
        return ((target, source) for source, target in self.pairs.several(lines))

    def place(self, line: int) -> str:
        """As read the other way."""
        return self.pairs.place(line)

    def raw(self, line: int) -> bytes:
        """As read the other way."""
        return self.pairs.raw(line)

    def before(self, line: int, count: int) -> list[tuple[str, str]]:
        """Target and source of those before a line in its document; none where there are no documents."""
        return [(target, source) for source, target in self.pairs.before(line, count)]
