"""A split drawn among the best ones of a unigram model."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class NbestDraw:
    """One of the `n` best splits, by its probability to a power (Kudo 2018, arXiv 1804.10959, section 3.2)."""

    best: Callable[[str], list[list[int]]]
    """The best splits of a line, as ids."""
    score: Callable[[int], float]
    """Log-probability of a piece."""
    alpha: float

    def split(self, line: str, rng: random.Random) -> list[int]:
        """Ids of a line as it is, not normalised."""
        splits = self.best(line)
        weights = [self.alpha * sum(map(self.score, split)) for split in splits]
        highest = max(weights, default=0.0)
        sums = list(accumulate(math.exp(weight - highest) for weight in weights))
        drawn = rng.random() * sums[-1] if sums else 0.0
        return next((split for split, upto in zip(splits, sums, strict=True) if drawn < upto), [])
