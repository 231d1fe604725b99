"""Splits drawn among the best ones of a unigram model."""

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from trimtab.data.order import uniform


@dataclass(frozen=True, slots=True)
class NbestDraw:
    """One of the `n` best splits, by its probability to a power (Kudo 2018, arXiv 1804.10959, section 3.2)."""

    best: Callable[[str], list[list[int]]]
    """The best splits of a line, as ids."""
    scores: Sequence[float]
    """Log-probability of each piece."""
    alpha: float

    def splits(self, lines: Sequence[str], keys: np.ndarray) -> list[list[int]]:
        """Ids of each line as it is, not normalised; the first number of the stream that its key names decides (see
        `order.stream_keys`)."""
        draws = uniform(keys, np.zeros(len(keys), np.int64)).tolist()
        return [self._split(line, draw) for line, draw in zip(lines, draws, strict=True)]

    def _split(self, line: str, draw: float) -> list[int]:
        splits = self.best(line)
        weights = [self.alpha * sum(map(self.scores.__getitem__, split)) for split in splits]
        highest = max(weights, default=0.0)
        sums = list(accumulate(math.exp(weight - highest) for weight in weights))
        return splits[bisect(sums, draw * sums[-1])] if splits else []
