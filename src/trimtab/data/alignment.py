"""Whether the two sides of a corpus belong together, line by line: drift, files in the other order, odd lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trimtab.data.drift import Drift, Lengths, correlation, find_drift, length_costs, usual_lengths
from trimtab.data.scan import ADDRESSES, COPY, DIGITS, LengthScan, ReadsPairs, Scan

MOST_LINES = 20
"""Odd lines that are named."""
BLOCK_LINES = 500
"""Lines in a row that a quick look takes from each of several places."""
ODD_COST = 9.0
"""Nats of `length_costs` from which a line's lengths are odd: a hundredth of a per cent of good lines."""

_CAUSES = {DIGITS: "other numbers", ADDRESSES: "other addresses", COPY: "target is the source"}
_WEIGHTS = {DIGITS: 3.0, ADDRESSES: 3.0, COPY: 3.0}


@dataclass(frozen=True, slots=True)
class OddLine:
    """A pair that is hardly a translation."""

    line: int
    """From 1."""
    where: str
    """`file:line` of the source."""
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alignment:
    """What the lengths and the contents of the lines say."""

    lines: int
    """Lines that were looked at."""
    correlation: float | None
    """Of the logarithms of the lengths, without pairs of which a side is blank; None if they hardly differ."""
    drift: Drift | None
    """Counted in lines of the corpus, from 0."""
    where: str
    """`file:line` of the line where the drift begins, or nothing."""
    num_odd: dict[str, int]
    """How many lines are odd, by reason."""
    worst: tuple[OddLine, ...]
    """Worst first."""


def quick_lines(num_lines: int, *, most: int) -> list[int]:
    """At most so many lines: all of them, or blocks of `BLOCK_LINES` in a row, spread over the corpus."""
    if num_lines <= most:
        return list(range(num_lines))
    blocks = max(1, most // BLOCK_LINES)
    starts = np.linspace(0, num_lines - BLOCK_LINES, blocks).astype(np.int64)
    return [int(start) + place for start in starts for place in range(BLOCK_LINES)]


@dataclass(frozen=True, slots=True)
class QuickLook:
    """What the lengths of some lines say."""

    lines: int
    """Lines that were looked at."""
    drift: Drift | None
    """Counted in lines of the corpus, from 0."""
    where: str
    """`file:line` of the line where the drift begins, or nothing."""


def look_at_lengths(scan: LengthScan, *, place: Callable[[int], str]) -> QuickLook:
    """Whether there is drift; `place` names a line, counted from 0."""
    drift = _first_drift(scan, usual_lengths(scan.source_length, scan.target_length))
    return QuickLook(len(scan), drift, place(drift.first) if drift else "")


def look_at_alignment(
    corpus: ReadsPairs, scan: Scan, *, place: Callable[[int], str], most: int = MOST_LINES
) -> Alignment:
    """What a scan says; `place` names a line, counted from 0."""
    usual = usual_lengths(scan.source_length, scan.target_length)
    drift = _first_drift(scan, usual)
    together = correlation(scan.source_length, scan.target_length)
    return Alignment(
        lines=len(scan),
        correlation=None if np.isnan(together) else together,
        drift=drift,
        where=place(drift.first) if drift else "",
        num_odd={
            **{name: int(((scan.odd & flag) > 0).sum()) for flag, name in _CAUSES.items()},
            "other length": int((_costs(scan, usual) >= ODD_COST).sum()),
        },
        worst=tuple(_worst(scan, usual, place=place, most=most)),
    )


def _first_drift(scan: LengthScan, usual: Lengths) -> Drift | None:
    return next(
        (
            Drift(found.kind, start + found.first, start + found.stop, found.offset, found.correlation)
            for start, part in _runs(scan)
            if (found := find_drift(scan.source_length[part], scan.target_length[part], usual))
        ),
        None,
    )


def _runs(scan: LengthScan) -> list[tuple[int, slice]]:
    """Stretches of lines in a row, each with its first line."""
    breaks = (np.flatnonzero(np.diff(scan.line) != 1) + 1).tolist()
    edges = [0, *breaks, len(scan)]
    parts = [slice(*edge) for edge in pairwise(edges)]
    return [(int(scan.line[part.start]), part) for part in parts if part.start < part.stop]


def _costs(scan: Scan, usual: Lengths) -> np.ndarray:
    return length_costs(scan.source_length, scan.target_length, usual)


def _worst(scan: Scan, usual: Lengths, *, place: Callable[[int], str], most: int) -> Sequence[OddLine]:
    costs = _costs(scan, usual)
    score = np.where(costs >= ODD_COST, costs, 0.0)
    for flag, weight in _WEIGHTS.items():
        score = score + weight * ((scan.odd & flag) > 0)
    order = np.argsort(-score, kind="stable")[:most]
    return [
        OddLine(
            line=int(scan.line[number]) + 1,
            where=place(int(scan.line[number])),
            reasons=tuple(
                [f"{scan.source_length[number]} and {scan.target_length[number]} characters"]
                * bool(costs[number] >= ODD_COST)
                + [name for flag, name in _CAUSES.items() if scan.odd[number] & flag]
            ),
        )
        for number in order.tolist()
        if score[number] > 0
    ]
