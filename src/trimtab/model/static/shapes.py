"""The few shapes that sessions are rounded up to, so that one recording serves many batches."""

from typing import NamedTuple

LEAST_HYPOTHESES = 64
"""Fewer cost as much as these: a GPU reads the weights anyway."""
LEAST_SOURCE = 32
FIRST_MEMORY = 32
"""Slots for target tokens that a session begins with; they double when they are full."""


class Shape(NamedTuple):
    """Sizes of a step. Some rows and slots are there only to fill the shape."""

    rows: int
    width: int
    """Hypotheses of each row."""
    source: int
    """Slots for source tokens of each row."""
    memory: int
    """Slots for target tokens of each hypothesis."""

    @classmethod
    def holding(cls, *, rows: int, width: int, source: int, memory: int) -> "Shape":
        """The smallest shape for all that."""
        return cls(
            rounded(rows, least=least_rows(width)),
            width,
            rounded(source, least=LEAST_SOURCE),
            doubled(memory, least=FIRST_MEMORY),
        )

    @property
    def hypotheses(self) -> int:
        """Of all rows together."""
        return self.rows * self.width

    def shrunk(self, rows: int) -> "Shape":
        """Half as many rows as often as `rows` fit: so a batch that becomes smaller passes through few shapes."""
        many = self.rows
        while many % 2 == 0 and many // 2 >= max(rows, least_rows(self.width)):
            many //= 2
        return self._replace(rows=many)


def least_rows(width: int) -> int:
    """Rows below which a shape does not go."""
    return max(1, LEAST_HYPOTHESES // width)


def rounded(count: int, *, least: int) -> int:
    """`count` or more: `least` or half as much again, times a power of two, so that a third is unused at most."""
    power = doubled(count, least=least)
    between = power // 4 * 3
    return between if power > least and between >= count else power


def doubled(count: int, *, least: int) -> int:
    """`count` or more: `least` times a power of two."""
    while least < count:
        least *= 2
    return least
