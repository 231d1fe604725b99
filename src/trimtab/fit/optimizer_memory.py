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
BLOCK, LEAST_NUMBERS = 128, 4096
"""Of states in 8 or 4 bits: numbers to a scale; a smaller tensor keeps states in float32 (`block_states`,
`compact_adamw`)."""
BITS = {"8bit": 8, "4bit": 4}
ROUNDING = 14
"""For each number of a tensor that is rounded by chance."""


def state_bytes(
    optimizer: Optimizer, trained: Sequence[Weights], rounded: Callable[[int], int], *, weight: int = 4
) -> int:
    """Bytes of the states of these weights, each of which has so many bytes; moments are float32 in every precision
    unless the recipe says otherwise, each tensor rounded up as the allocator does."""
    match optimizer:
        case AdamW(states="bfloat16" | "8bit" | "4bit"):
            return sum(
                each.count * _compact(each.each, optimizer, rounded, weight=weight) for each in trained
            )
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


def _compact(numbers: int, optimizer: AdamW, rounded: Callable[[int], int], *, weight: int) -> int:
    """Both moments of a tensor, its count of steps, and bits that are kept beside its weights."""
    count, states = rounded(4), optimizer.states
    if numbers < LEAST_NUMBERS:  # a third one for what bfloat16 rounds off the weights
        return count + (3 if weight == 2 else 2) * rounded(4 * numbers)
    count += rounded(numbers) if weight == 2 and optimizer.weights == "24bit" else 0
    if states == "bfloat16":
        return count + 2 * rounded(2 * numbers)
    blocks = -(-numbers // BLOCK)
    return count + 2 * (rounded(blocks * BLOCK * BITS[states] // 8) + rounded(4 * blocks))


def update_workspace_bytes(
    optimizer: Optimizer, trained: Sequence[Weights], precision: str, *, by_tensor: bool = False
) -> int:
    """Bytes that one update holds for a moment beside gradients, states and weights; `by_tensor` says that tensors are
    updated one after another."""
    largest = max((each.each for each in trained), default=0)
    if isinstance(optimizer, AdamW) and optimizer.states != "float32":
        return 0  # a kernel works in place
    if optimizer.update_bytes:
        return (optimizer.update_bytes + (8 + ROUNDING if precision == "bf16" else 0)) * largest
    if precision != "bf16":
        return 0  # PyTorch's fused kernel works in place
    total = sum(each.numbers for each in trained)
    at_once = largest if by_tensor else max(largest, min(total, WEIGHTS_AT_ONCE))
    return 8 * at_once + ROUNDING * largest
