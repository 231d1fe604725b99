"""The course of a number as a few characters."""

import itertools
import math
from dataclasses import dataclass, field

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*#@"
MOST = 512
"""Means that are kept; each then stands for twice as many values as before."""


@dataclass(slots=True)
class Course:
    """All values of a number that comes again and again, as means of stretches of the same length, in bounded
    memory."""

    values: list[float] = field(default_factory=list[float])
    length: int = 1
    """Values that a mean stands for."""
    _begun: list[float] = field(default_factory=list[float])

    def add(self, value: object) -> None:
        """One more value; what is not finite is left out."""
        if not isinstance(value, int | float) or not math.isfinite(value):
            return
        self._begun.append(float(value))
        if len(self._begun) < self.length:
            return
        self.values.append(sum(self._begun) / self.length)
        self._begun = []
        if len(self.values) >= MOST:
            pairs = zip(self.values[::2], self.values[1::2], strict=True)
            self.values = [(first + second) / 2 for first, second in pairs]
            self.length *= 2


def sparkline(values: list[float], width: int, *, is_ascii: bool = False) -> str:
    """The values in at most `width` characters, from the lowest to the highest; each character is a mean."""
    marks = PLAIN if is_ascii else BLOCKS
    count = min(width, len(values))
    if count < 1:
        return ""
    bounds = [number * len(values) // count for number in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(bounds)]
    low, high = min(means), max(means)
    if high <= low:
        return marks[0] * count
    return "".join(marks[round((mean - low) / (high - low) * (len(marks) - 1))] for mean in means)
