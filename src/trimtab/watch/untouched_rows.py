"""Embedding rows whose token has not occurred in any example: they keep their initial values, except for weight decay
and, where the matrix is tied to the output, for gradients that push them down as wrong answers."""

from collections.abc import Mapping

import numpy as np

BOTH = "source and target"
"""The side of a vocabulary that both read with."""


class UntouchedRows:
    """Which ids of each side were read since the run began or resumed."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """`sizes` are the rows of each side's vocabulary."""
        self.read = {side: np.zeros(rows, bool) for side, rows in sizes.items()}

    def add(self, side: str, ids: np.ndarray) -> None:
        """Counts the ids of a global batch; those beyond the vocabulary, such as factors joined to a piece, are taken
        modulo its size."""
        read = self.read[side if side in self.read else BOTH]
        read[np.asarray(ids) % len(read)] = True

    def shares(self) -> dict[str, float]:
        """The share of rows that nothing has read, by side; empty before anything was read."""
        return {side: float(1 - each.mean()) for side, each in self.read.items() if each.any()}
