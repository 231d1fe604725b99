"""Numbers of up to millions of steps as some thousand points that lose no spike: each point keeps the lowest, the
highest and the mean of its steps, and where the extremes were."""

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_POINTS = 2048
"""Points of a curve; more than a screen has columns, so that at full zoom nothing is lost."""
MOST_SINGLE = 4096
"""Up to so many steps each one is a point of its own."""


def steps_per_point(num_steps: int) -> int:
    """How many steps share a point: 1, or the power of two that leaves at most `MOST_POINTS`. As a power of two it
    rarely changes while a run grows."""
    if num_steps <= MOST_SINGLE:
        return 1
    width = 1
    while num_steps > width * MOST_POINTS:
        width *= 2
    return width


@dataclass(frozen=True, slots=True)
class Points:
    """A curve in points; with one step a point only `mean` is there."""

    mean: np.ndarray
    lowest: np.ndarray | None = None
    highest: np.ndarray | None = None
    lowest_at: np.ndarray | None = None
    """Which step of the point it was, from 0."""
    highest_at: np.ndarray | None = None


def points_of(values: np.ndarray, width: int) -> Points:
    """The points of a column, so many steps each. What is not finite counts for none of the three; a point without a
    finite step is NaN."""
    if width == 1:
        return Points(np.where(np.isfinite(values), values, np.nan))
    table = _table(values, width)
    is_finite = np.isfinite(table)
    count = is_finite.sum(axis=1)
    empty = count == 0
    low, high = np.where(is_finite, table, np.inf), np.where(is_finite, table, -np.inf)
    low_at, high_at = low.argmin(axis=1), high.argmax(axis=1)
    rows = np.arange(len(table))
    with np.errstate(over="ignore"):
        mean = np.where(is_finite, table, 0.0).sum(axis=1) / np.maximum(count, 1)
    lowest, highest = low[rows, low_at], high[rows, high_at]
    for found in (mean, lowest, highest):
        found[empty] = np.nan
    return Points(mean, lowest, highest, low_at, high_at)


def ends_of(values: np.ndarray, width: int) -> np.ndarray:
    """The value of each point's last step, for what only grows."""
    last = np.arange(width - 1, len(values), width)
    return values[np.append(last, len(values) - 1)] if len(values) % width else values[last]


def counts_of(flags: np.ndarray, width: int) -> np.ndarray:
    """How many steps of each point have a flag."""
    return np.nansum(_table(flags, width) > 0, axis=1)


def _table(values: np.ndarray, width: int) -> np.ndarray:
    rows = -(-len(values) // width)
    table = np.full(rows * width, np.nan)
    table[: len(values)] = values
    return table.reshape(rows, width)


@dataclass(slots=True)
class Pack:
    """Arrays as one text: byte-shuffled, which deflates far better than numbers as they are, then
    deflated, then in base64. `unpacked` and `array` of `templates/report.js` read it."""

    _parts: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0

    def add(self, values: np.ndarray, *, kind: str = "f4") -> dict[str, Any]:
        """Takes an array; gives what the page needs to find it. `kind` is f4, f8 or u4, little-endian; numbers beyond
        float32 are held at its bounds."""
        if kind == "f4":
            most = np.finfo(np.float32).max
            values = np.clip(values, -most, most)
        plain = np.ascontiguousarray(values, dtype=f"<{kind}")
        planes = plain.view(np.uint8).reshape(len(plain), plain.itemsize).T.tobytes()
        place = {"at": self._size, "n": len(plain), "kind": kind}
        self._parts.append(planes)
        self._size += len(planes)
        return place

    def text(self) -> str:
        """All of them."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode()
