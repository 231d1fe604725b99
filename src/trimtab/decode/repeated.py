"""How much of a text that was generated had been generated before."""

from collections.abc import Sequence

SIZE = 4
"""Symbols of the n-grams that are counted."""


def repeated_share(ids: Sequence[int], *, size: int = SIZE) -> float:
    """The share of n-grams of `size` symbols that stood in the row before: 1 - distinct / total; 0 where there is none.

    Source: seq-rep-n of Welleck et al. 2019, arXiv 1908.04319, section 6.1.
    """
    grams = [tuple(ids[start : start + size]) for start in range(len(ids) - size + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
