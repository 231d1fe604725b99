"""Bytes of weights, as the allocator of PyTorch counts them."""

from collections.abc import Sequence

from trimtab.fit import constants
from trimtab.fit.shape import Weights

BLOCK, GROUP, CODES = 64, 256, 256
"""Weights to a scale in 4 bits, scales to a scale of theirs, and values of 8 bits."""


def weight_bytes(weights: Weights, size: int) -> int:
    """Bytes of tensors with numbers of a size, as the allocator rounds them; packed ones have a size of their own."""
    if weights.packed_rows:
        return weights.count * four_bit_bytes(weights.packed_rows, weights.shape[1])
    return weights.count * rounded_block(weights.each * size)


def four_bit_bytes(rows: Sequence[int], columns: int) -> int:
    """Bytes of a linear map in 4 bits, as `model/four_bit.py` packs each of its matrices: two codes to a byte, scales
    of 8 bits, those of the scales in float32, their mean; and once 256 values of scales."""
    total = rounded_block(4 * CODES)
    for count in rows:
        numbers = count * columns
        scales = -(-numbers // BLOCK)
        sizes = ((numbers + 1) // 2, scales, 4 * -(-scales // GROUP), 4)
        total += sum(map(rounded_block, sizes))
    return total


def rounded_block(size: int) -> int:
    """Bytes of a tensor as the allocator counts them."""
    return -(-size // constants.BLOCK_BYTES) * constants.BLOCK_BYTES
