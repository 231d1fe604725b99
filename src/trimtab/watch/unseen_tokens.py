"""Tokens that no example has contained: their embedding rows keep their initial values, except for weight decay and,
where the matrix is tied to the output, for gradients that push them down as wrong answers."""

from collections.abc import Mapping

import numpy as np

BOTH = "source and target"
"""The side of a vocabulary that both read with."""


class UnseenTokens:
    """Which ids of each side have occurred since the run began or resumed."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """`sizes` are the rows of each side's vocabulary."""
        self.seen = {side: np.zeros(rows, bool) for side, rows in sizes.items()}

    def add(self, side: str, ids: np.ndarray) -> None:
        """Counts the ids of a global batch; those beyond the vocabulary, such as factors joined to a piece, are taken
        modulo its size."""
        seen = self.seen[side if side in self.seen else BOTH]
        seen[np.asarray(ids) % len(seen)] = True

    def shares(self) -> dict[str, float]:
        """The share of the vocabulary that is unseen, by side; empty before anything was counted."""
        return {side: float(1 - each.mean()) for side, each in self.seen.items() if each.any()}
