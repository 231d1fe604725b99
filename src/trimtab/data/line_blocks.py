"""Which of some lines are read at once, so that thousands of lines of a file need not be thousands of reads."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from jaxtyping import Int64

GAP_BYTES = 2**15
"""So much that nobody asked for is read along rather than left out: asking anew for what lies behind it costs as much,
on a disk, over a network and in a sandbox much more."""
BLOCK_BYTES = 2**20
"""A block ends with the line in which it has grown to so much; no more than a block is held."""


def line_blocks(begins: Int64[np.ndarray, "lines"], ends: Int64[np.ndarray, "lines"]) -> Iterator[slice]:
    """Of lines in the order in which they are asked for, each with its first byte and one past its last, those that are
    read at once: slices that follow each other and together are all lines. In a slice the bytes never go back."""
    if not len(begins):
        return
    gaps = begins[1:] - ends[:-1]
    is_apart = (gaps < 0) | (gaps > GAP_BYTES)
    # Counted from the first byte of its stretch, each line belongs to one of the pieces of BLOCK_BYTES.
    first = begins[np.concatenate([[0], np.flatnonzero(is_apart) + 1])]
    stretch = np.concatenate([[0], np.cumsum(is_apart)])
    piece = (begins - first[stretch]) // BLOCK_BYTES
    cuts = (np.flatnonzero(is_apart | (np.diff(piece) != 0)) + 1).tolist()
    yield from (slice(*edges) for edges in pairwise([0, *cuts, len(begins)]))
