"""Finds where two files stop being translations of each other, from the lengths of their lines alone.

Long sentences have long translations. Where one line is lost on one side, each line after it stands beside the
translation of its neighbour, and the lengths fit the neighbour better than what stands there. A pair of which a side is
blank (of length 0) says nothing of it: such pairs are dropped before training.
Source: Gale & Church 1993, "A Program for Aligning Sentences in Bilingual Corpora" (J93-1004), section 3.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

MOST_OFFSET = 5
"""Lines lost on one side in a row that are recognised as such."""
LEAST_GAIN = 40.0
"""Nats by which a stretch must fit better when it is shifted. Among ten million lines that are in place a stretch
gains so much by chance in about one corpus of 10^10 (the ratio of two likelihoods exceeds e^x with chance e^-x)."""
LEAST_LINES = 10
WINDOW = 200
"""Lines over which lengths must go together."""
LEAST_CORRELATION = 0.1
"""Of the lengths in a window; lines that belong together have 0.5 to 0.95, others 0 with a deviation of 0.07."""
_LEAST_GAIN_OF_CORRELATION = 0.2
_LEAST_SPREAD = 0.2
"""Standard deviation of the logarithm of lengths below which they say nothing."""
_MOST_COST = 10.0
"""One line says no more than this, since a single free translation is no drift."""
_BLANK_COST = 1.0
"""Of a blank source beside a target that is none. Little, since in many corpora a side is blank here and there."""
_LOW_QUANTILE, _CHI_SQUARE_THERE = 0.3, 0.1485


# Between places of the table the cost is off by less than a ten-thousandth; beyond its end it is that of the end.
_DELTAS = np.linspace(0.0, 8.0, 4097)
_COSTS = np.array([-math.log(math.erfc(delta / math.sqrt(2))) for delta in _DELTAS])


@dataclass(frozen=True, slots=True)
class Lengths:
    """What is usual in a pair of languages."""

    ratio: float
    """Target characters to source characters."""
    variance: float
    """Of the difference, for each source character; 6.8 in the paper."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A stretch in which the sides do not belong together, lines counted from 0."""

    kind: Literal["shifted", "unrelated"]
    first: int
    stop: int
    """One past its last line."""
    offset: int
    """The target that fits source line i is at i + offset; 0 where none is known to fit."""
    correlation: float
    """Of the lengths as they stand, over the stretch; 0 where they say nothing."""


def usual_lengths(source: Int[np.ndarray, "lines"], target: Int[np.ndarray, "lines"]) -> Lengths:
    """The ratio of all characters, and a variance that the better part of the lines has, so that drift widens it
    little; without pairs of which a side is blank."""
    whole = _whole(source, target)
    source, target = source[whole], target[whole]
    ratio = float(target.sum() / max(1, source.sum())) or 1.0
    square = (target - source * ratio) ** 2 / np.maximum(source, 1)
    variance = float(np.quantile(square, _LOW_QUANTILE)) / _CHI_SQUARE_THERE if len(square) else 1.0
    return Lengths(ratio, max(1.0, variance))


def length_costs(
    source: Int[np.ndarray, "lines"], target: Int[np.ndarray, "lines"], usual: Lengths
) -> Float[np.ndarray, "lines"]:
    """Nats that each pair of lengths costs: -log P(a difference as great or greater), equation 5 of the paper."""
    spread = np.sqrt(np.maximum(source, 1) * usual.variance)
    delta = np.abs(target - source * usual.ratio) / spread
    return np.interp(delta, _DELTAS, _COSTS)


def find_drift(
    source: Int[np.ndarray, "lines"], target: Int[np.ndarray, "lines"], usual: Lengths
) -> Drift | None:
    """The first stretch that fits better when it is shifted, or whose lengths do not go together; None in good text."""
    found = [drift for offset in _offsets() if (drift := _shifted(source, target, usual, offset))]
    unrelated = _unrelated(source, target)
    # Among unrelated lines some fit by chance when they are shifted; lines that are shifted look unrelated too.
    explained = sum(drift.stop - drift.first for drift in found)
    if unrelated is not None and explained < (unrelated.stop - unrelated.first) / 2:
        return unrelated
    return min(found, key=lambda drift: (drift.first, abs(drift.offset)), default=None)


def correlation(source: Int[np.ndarray, "lines"], target: Int[np.ndarray, "lines"]) -> float:
    """Pearson's, of the logarithms of the lengths, without pairs of which a side is blank; NaN where one side's lengths
    hardly differ."""
    whole = _whole(source, target)
    left, right = np.log1p(source[whole]), np.log1p(target[whole])
    if len(left) < 2 or min(left.std(), right.std()) < _LEAST_SPREAD:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])


def _whole(*sides: np.ndarray) -> np.ndarray:
    """The lines of which no side is blank."""
    return np.logical_and.reduce([side > 0 for side in sides])


def _offsets() -> list[int]:
    return [sign * size for size in range(1, MOST_OFFSET + 1) for sign in (1, -1)]


def _shifted(source: np.ndarray, target: np.ndarray, usual: Lengths, offset: int) -> Drift | None:
    num_lines = len(source)
    if num_lines <= abs(offset) + LEAST_LINES:
        return None
    begin, end = max(0, -offset), num_lines - max(0, offset)
    here, there = target[begin:end], target[begin + offset : end + offset]
    cost = [np.minimum(length_costs(source[begin:end], each, usual), _MOST_COST) for each in (here, there)]
    whole = _whole(source[begin:end], here, there)
    # Where both sides have blank lines, as between paragraphs, hardly a pair is whole once they are shifted.
    blank = (source[begin:end] == 0) * (np.sign(here) - np.sign(there))
    gain = np.where(whole, cost[0] - cost[1], _BLANK_COST * blank)
    # The stretch of greatest sum: the sum up to its end is as far as can be above the least sum before it.
    total = np.concatenate([[0.0], np.cumsum(gain)])
    least = np.minimum.accumulate(total)
    stop = int(np.argmax(total - least))
    first = int(np.argmin(total[: stop + 1]))
    part = slice(first, stop)
    if total[stop] - total[first] < LEAST_GAIN or (whole | (blank != 0))[part].sum() < LEAST_LINES:
        return None
    now, then = (correlation(source[begin:end][part], each[part]) for each in (here, there))
    if not then >= max(0.0, now) + _LEAST_GAIN_OF_CORRELATION:
        return None  # it fits nothing, neither where it stands nor there
    return Drift("shifted", begin + first, begin + stop, offset, 0.0 if math.isnan(now) else now)


def _unrelated(source: np.ndarray, target: np.ndarray) -> Drift | None:
    # A window is so many pairs that count: of a few the lengths go together, or do not, by chance.
    line = np.flatnonzero(_whole(source, target))
    source, target = source[line], target[line]
    starts = range(0, len(source) - WINDOW // 2, WINDOW) if len(source) >= WINDOW // 2 else range(0)
    bad: list[int] = []
    for start in starts:
        part = slice(start, start + WINDOW)
        if correlation(source[part], target[part]) < LEAST_CORRELATION:
            bad.append(start)
    if not bad:
        return None
    first, stop = bad[0], min(len(source), bad[-1] + WINDOW)
    together = correlation(source[first:stop], target[first:stop])
    # A window of odd lines is no drift where the stretch around it is in order.
    if len(bad) * WINDOW < (stop - first) / 2:
        return None
    return Drift("unrelated", int(line[first]), int(line[stop - 1]) + 1, 0, together)
