"""What every kind of optimizer says of itself, and its settings that all kinds have."""

from collections.abc import Sequence
from typing import ClassVar

from trimtab.config.settings import Settings


def check_betas(betas: Sequence[float], *, may_be_zero: bool) -> None:
    """Raises ValueError for a decay that is not below 1, or below 0, or 0 where it may not be."""
    if not all(0 <= beta < 1 and (may_be_zero or beta > 0) for beta in betas):
        lowest = "at least" if may_be_zero else "above"
        raise ValueError(f"betas: got {list(betas)}; each is {lowest} 0 and below 1")


class OptimizerSettings(Settings):
    """The base of all optimizers. Each kind gives each of these facts, so that no other part lists kinds."""

    moments: ClassVar[int]
    """Minimum number of state tensors per weight, each of the weight's size."""
    update_bytes: ClassVar[int]
    """Memory that an update of plain tensor operations needs for a moment, in bytes for each number of the largest
    tensor, with float32 weights and states."""
    is_elementwise: ClassVar[bool]
    """Whether the update of a number depends on that number, its gradient and its states alone, so that a process can
    update the part of a tensor that it holds."""
    is_scale_invariant: ClassVar[bool]
    """Whether the size of an update does not follow that of the gradient. Then the learning rate changes with the
    square root of the batch size (arXiv 2205.10287), otherwise in proportion (arXiv 1706.02677)."""
    has_rates_of_adam: ClassVar[bool]
    """Whether learning rates that suit Adam suit it, from which preflight takes the usual range."""
    follows_mup: ClassVar[bool]
    """Whether muP's rules for Adam hold, whose update of a number has the size of the learning rate."""
    steps_by_tensor: ClassVar[bool]
    """Whether a weight that is trained from a later step on starts as in a new run: states count the updates of their
    own tensor, or none."""
