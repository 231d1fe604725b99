"""The tiles of the logits: some tokens by the whole vocabulary, or by a part of it."""

from typing import NamedTuple

import torch

WHOLE_TOKENS = {"cuda": 1024, "cpu": 48}
"""Fewer tokens at once than this, and adding up the gradient of the matrix costs more than making logits twice."""
ROUND = (128, 64, 8)
"""Kernels for products compute tiles of such sides, and read 8 half-precision numbers at once where rows begin at
multiples of them; otherwise they take several times as long."""


class Precisions(NamedTuple):
    """Of what goes into the loss and of what it makes."""

    hidden: torch.dtype
    weights: torch.dtype
    logits: torch.dtype
    """In which products are made."""
    trains_weights: bool = True
    """Whether the matrix gets a gradient."""


class Tiling(NamedTuple):
    """A piece of the logits."""

    tokens: int
    rows: int
    """Of the output matrix."""
    once: bool
    """Whether each logit is made once, in a row with the others of its token, and kept until its gradient is made."""


def tiling(tokens: int, rows: int, dim: int, *, of: Precisions, limit: int, least: int) -> Tiling:
    """Pieces whose logits, with what else is alive beside them and the gradients, need less than twice `limit` bytes.

    `least` is of `WHOLE_TOKENS`. Whole rows need every product once, but few of them may fit, and beside them copies of
    hidden vectors and matrix where their precision is another, and sums as wide as float32 of the matrix's gradient.
    Where the vocabulary is cut too, logits are made twice: for the sums of their softmax, and for their gradients.
    """
    tokens = max(1, tokens)
    size, copied = of.logits.itemsize, of.hidden != of.logits
    of_matrix = (of.logits != of.weights) * size + (of.trains_weights and is_half(of.weights)) * 4
    few = max(1, limit // (8 * dim))
    at_once = min(limit // (rows * size), few) if copied else limit // (rows * size)
    if at_once >= min(tokens, least) and rows * dim * of_matrix <= limit // 2:
        return Tiling(evenly(tokens, at_once), rows, once=True)
    at_once = evenly(tokens, few)
    most = [3 * limit // 4 // (at_once * size), *([limit // 2 // (dim * of_matrix)] if of_matrix else [])]
    return Tiling(at_once, evenly(rows, max(1, min(most))), once=False)


def is_half(dtype: torch.dtype) -> bool:
    """Whether sums need a wider precision."""
    return dtype.itemsize < 4


def evenly(count: int, most: int) -> int:
    """The size of the fewest pieces of at most `most` that are about alike, in round numbers where there is room; many
    of them may become one more for that."""
    pieces = max(1, -(-count // most))
    even = max(1, -(-count // pieces))
    for side in ROUND:
        rounded = -(-even // side) * side
        if rounded <= most:
            return min(max(1, count), rounded)
    return even if most < ROUND[0] else most // ROUND[-1] * ROUND[-1]
