"""The tiles of the logits, as the loss makes them and the planner counts them: some tokens by the whole vocabulary, or
by a part of it."""

from typing import NamedTuple

GPU_CHUNK_BYTES = 128 * 2**20
"""Of logits at once; with what is alive beside them less than 256 MiB in all."""
SLOW_CHUNK_BYTES = 32 * 2**20
"""On a GPU without Triton, where the logits of a tile are there several times, in float32."""
WHOLE_TOKENS = {"cuda": 1024, "cpu": 48}
"""Fewer tokens at once than this, and adding up the gradient of the matrix costs more than making logits twice."""
ROUND = (128, 64, 8)
"""Kernels for products compute tiles of such sides, and read 8 half-precision numbers at once where rows begin at
multiples of them; otherwise they take several times as long."""


class Precisions(NamedTuple):
    """Bytes of a number of what goes into the loss and of what it makes."""

    hidden: int
    weights: int
    logits: int
    """Products are made in their precision."""
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
    size, copied = of.logits, of.hidden != of.logits
    of_matrix = (of.logits != of.weights) * size + (of.trains_weights and of.weights < 4) * 4
    few = max(1, limit // (8 * dim))
    at_once = min(limit // (rows * size), few) if copied else limit // (rows * size)
    if at_once >= min(tokens, least) and rows * dim * of_matrix <= limit // 2:
        return Tiling(evenly(tokens, at_once), rows, once=True)
    at_once = evenly(tokens, few)
    most = [3 * limit // 4 // (at_once * size), *([limit // 2 // (dim * of_matrix)] if of_matrix else [])]
    return Tiling(at_once, evenly(rows, max(1, min(most))), once=False)


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
