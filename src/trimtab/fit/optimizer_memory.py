"""Bytes of the optimizers' states, and of what an update needs for a moment."""

from collections.abc import Callable, Sequence
from typing import assert_never

from trimtab.config.optimizers import (
    SGD,
    Adafactor,
    AdamW,
    AdEMAMix,
    Lion,
    Muon,
    Optimizer,
    StableAdamW,
)
from trimtab.fit.shape import Weights

WEIGHTS_AT_ONCE = 1 << 25
"""Of which `RoundedAdamW` has copies in float32."""
PASSING = {"sgd": 20, "lion": 24, "adafactor": 28, "stable_adamw": 36, "ademamix": 44, "muon": 40}
"""Bytes for each number of the largest tensor, in updates of plain tensor operations."""
ROUNDING = 14
"""For each number of a tensor that is rounded by chance."""


def kept_bytes(optimizer: Optimizer, trained: Sequence[Weights], rounded: Callable[[int], int]) -> int:
    """Bytes of the states of these weights; moments are float32 in every precision, each tensor rounded up as the
    allocator does."""
    match optimizer:
        case StableAdamW() | AdEMAMix() | Lion() | SGD():
            return sum(each.count * optimizer.moments * rounded(4 * each.each) for each in trained)
        case Muon():  # the momentum of a matrix; two moments of anything else
            return sum(
                each.count * (1 if each.part == "matrix" else 2) * rounded(4 * each.each) for each in trained
            )
        case AdamW():  # a count of steps for each tensor too
            return sum(each.count * (2 * rounded(4 * each.each) + rounded(4)) for each in trained)
        case Adafactor():
            return sum(each.count * (sum(rounded(4 * size) for size in each.shape)) for each in trained)
        case _:
            assert_never(optimizer)


def passing_bytes(optimizer: Optimizer, trained: Sequence[Weights], precision: str) -> int:
    """Bytes that one update holds for a moment beside gradients, states and weights."""
    largest = max((each.each for each in trained), default=0)
    if not isinstance(optimizer, AdamW) or isinstance(optimizer, StableAdamW):
        return PASSING[optimizer.kind] * largest
    if precision != "bf16":
        return 0  # PyTorch's fused kernel works in place
    total = sum(each.numbers for each in trained)
    at_once = max(largest, min(total, WEIGHTS_AT_ONCE))
    return 8 * at_once + ROUNDING * largest
