"""What the loss takes beside the layers: gradients that it makes in its forward pass, and a piece of the logits.

The pieces are those of `loss/tiling.py`, which needs torch; a test holds both to the same numbers.
"""

from typing import NamedTuple

from trimtab.fit.activations import Program
from trimtab.fit.shape import Shape

CHUNK_BYTES = 128 * 2**20
"""Of logits at once, on a GPU with Triton (`loss/build.py`)."""
SLOW_CHUNK_BYTES = 32 * 2**20
LEAST_TOKENS = 1024
ROUND = (128, 64, 8)


class Workspace(NamedTuple):
    """Bytes of the loss."""

    hidden: int
    """The vectors that it reads."""
    by_hidden: int
    """Their gradient."""
    by_matrix: int
    """The gradient of the output matrix."""
    pieces: int
    """A piece of the logits with what lies beside it, until the loss is made."""


class Piece(NamedTuple):
    """Tokens by rows of the matrix, and whether each logit is made once."""

    tokens: int
    rows: int
    once: bool


def loss_workspace(shape: Shape, how: Program, *, targets: int, triton: bool = True) -> Workspace:
    """The bytes of the loss of so many targets."""
    rows, dim = shape.rows, shape.dim
    hidden = 4 if shape.final_norm or how.is_whole else how.residual(shape.stacks[-1].layer)
    matrix = next(each for each in shape.weights if each.part == ("embedding" if shape.tied else "output"))
    narrow = not matrix.trained and any(stack.layer.frozen for stack in shape.stacks)
    size = how.half if narrow and narrows_frozen(how) else how.weight
    limit = CHUNK_BYTES if triton else SLOW_CHUNK_BYTES
    sizes = (hidden, size, how.half)
    piece = tiling(targets, rows, dim, sizes=sizes, trains_weights=matrix.trained, limit=limit)
    logits = piece.tokens * piece.rows * how.half
    copy = piece.rows * dim * how.half if size != how.half else 0
    read = piece.tokens * dim * how.half if hidden != how.half else 0
    wide = piece.rows * dim * 4 if not piece.once and size < 4 else 0
    other = 3 if not triton else 0  # softmax and its parts without a kernel: float32 copies
    slow = other * piece.tokens * piece.rows * 4
    of_matrix = rows * dim * (4 if piece.once else size) if matrix.trained else 0
    sums = 20 * targets
    return Workspace(
        hidden * dim * targets,
        4 * dim * targets,
        of_matrix,
        logits + copy + read + wide + slow + sums,
    )


def narrows_frozen(how: Program) -> bool:
    """Whether frozen matrices under an adapter are kept in half precision."""
    return how.packed and how.precision == "bf16_mixed"


def tiling(
    tokens: int, rows: int, dim: int, *, sizes: tuple[int, int, int], trains_weights: bool = True, limit: int
) -> Piece:
    """See `loss.tiling.tiling`; `sizes` are the bytes of a number of the vectors, the matrix and the logits."""
    tokens = max(1, tokens)
    of_hidden, of_weights, size = sizes
    of_matrix = (size != of_weights) * size + (trains_weights and of_weights < 4) * 4
    few = max(1, limit // (8 * dim))
    at_once = min(limit // (rows * size), few) if of_hidden != size else limit // (rows * size)
    if at_once >= min(tokens, LEAST_TOKENS) and rows * dim * of_matrix <= limit // 2:
        return Piece(evenly(tokens, at_once), rows, True)
    at_once = evenly(tokens, few)
    most = [3 * limit // 4 // (at_once * size), *([limit // 2 // (dim * of_matrix)] if of_matrix else [])]
    return Piece(at_once, evenly(rows, max(1, min(most))), False)


def evenly(count: int, most: int) -> int:
    """See `loss.tiling.evenly`."""
    pieces = max(1, -(-count // most))
    even = max(1, -(-count // pieces))
    for side in ROUND:
        rounded = -(-even // side) * side
        if rounded <= most:
            return min(max(1, count), rounded)
    return even if most < ROUND[0] else most // ROUND[-1] * ROUND[-1]
