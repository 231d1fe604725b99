"""What the loss takes beside the layers: gradients that it makes in its forward pass, and a piece of the logits."""

from typing import NamedTuple

from trimtab.fit.activations import Program
from trimtab.fit.shape import Shape
from trimtab.logit_tiles import GPU_CHUNK_BYTES, SLOW_CHUNK_BYTES, WHOLE_TOKENS, Precisions, tiling


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


def loss_workspace(shape: Shape, how: Program, *, targets: int, triton: bool = True) -> Workspace:
    """The bytes of the loss of so many targets."""
    rows, dim = shape.rows, shape.dim
    hidden = 4 if shape.final_norm or how.is_whole else how.residual(shape.stacks[-1].layer)
    matrix = next(each for each in shape.weights if each.part == ("embedding" if shape.tied else "output"))
    narrow = not matrix.trained and any(stack.layer.frozen for stack in shape.stacks)
    size = how.half if narrow and narrows_frozen(how) else how.weight
    limit = GPU_CHUNK_BYTES if triton else SLOW_CHUNK_BYTES
    of = Precisions(hidden, size, how.half, trains_weights=matrix.trained)
    piece = tiling(targets, rows, dim, of=of, limit=limit, least=WHOLE_TOKENS["cuda"])
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
