"""Into what pieces the logits are cut: some tokens by the whole vocabulary, or by a part of it."""

from typing import NamedTuple

import torch

WHOLE_TOKENS = {"cuda": 1024, "cpu": 48}
"""Fewer tokens at once than this, and adding up the gradient of the matrix costs more than making logits twice."""
ROUND = 128
"""Kernels for products compute tiles of such sides."""


class Tiling(NamedTuple):
    """A piece of the logits."""

    tokens: int
    rows: int
    """Of the output matrix."""
    once: bool
    """Whether each logit is made once, in a row with the others of its token, and kept until its gradient is made."""


def tiling(
    tokens: int, rows: int, dim: int, *, logits: torch.dtype, weights: torch.dtype, limit: int, least: int
) -> Tiling:
    """Pieces whose logits, with what else is alive beside them, need less than twice `limit` bytes.

    The precisions are those of the logits, in which products are made, and of the matrix; `least` is of `WHOLE_TOKENS`.
    Whole rows need every product once, but few of them may fit, and beside them a copy of the matrix where its
    precision is another, and sums as wide as float32. Where the vocabulary is cut too, logits are made twice: for the
    sums of their softmax, and for their gradients.
    """
    tokens, size, copied = max(1, tokens), logits.itemsize, logits != weights
    beside = copied * size + (wide_of(weights) != weights) * wide_of(weights).itemsize
    at_once = limit // (rows * size)
    if at_once >= min(tokens, least) and rows * dim * beside <= limit // 2:
        return Tiling(evenly(tokens, at_once), rows, once=True)
    # The gradient of the hidden vectors is a sum over the pieces then.
    at_once = evenly(tokens, max(1, limit // 2 // (dim * wide_of(logits).itemsize)))
    in_logits, in_copy = 3 * limit // 4 // (at_once * size), limit // 2 // (dim * size)
    return Tiling(at_once, evenly(rows, max(1, min(in_logits, in_copy) if copied else in_logits)), once=False)


def wide_of(dtype: torch.dtype) -> torch.dtype:
    """Float32 or wider, in which sums are made."""
    return torch.promote_types(dtype, torch.float32)


def evenly(count: int, most: int) -> int:
    """The size of the fewest pieces of at most `most` that are about alike, in round numbers where there is room."""
    pieces = -(-count // most)
    even = -(-count // pieces)
    rounded = -(-even // ROUND) * ROUND
    return min(count, rounded) if rounded <= most else even
