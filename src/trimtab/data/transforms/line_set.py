"""Some of the lines of a corpus, a bit for each line of it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class LineSet:
    """A set of lines, numbered from 0; may be pickled."""

    bits: np.ndarray
    """Eight lines a byte, the first in its highest bit; uint8."""

    @classmethod
    def of(cls, is_in: np.ndarray) -> "LineSet":
        """Those lines for which an array of bool says so."""
        return cls(np.packbits(is_in))

    def __contains__(self, line: int) -> bool:
        return bool(int(self.bits[line >> 3]) >> (7 - (line & 7)) & 1)

    def __len__(self) -> int:
        return int(np.bitwise_count(self.bits).sum())
