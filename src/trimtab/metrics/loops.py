"""The share of lines whose end is repeated again and again, as an attention decoder does that has lost its place."""

import re

from trimtab.metrics.metric import ReadingMetric, Readings

LOOP = re.compile(r"(.{1,40}?)\1{2,}$", re.DOTALL)
LONGER = 1.5
"""A reading that loops is so many times as long as what is written there."""


def is_loop(output: str, reference: str) -> bool:
    """Whether a reading ends with something three times in a row, and is far longer than its reference: a line of dots
    that is read as one does not count."""
    return len(output) > LONGER * len(reference) + 3 and LOOP.search(output) is not None


def loops(given: Readings) -> float:
    """From 0 to 1; NaN where there is no line."""
    found = sum(map(is_loop, given.outputs, given.references))
    return found / len(given.references) if given.references else float("nan")


LOOPS = ReadingMetric(
    name="loops", label="loops", about="share of lines whose end is repeated again and again", compute=loops
)
