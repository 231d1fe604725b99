"""Optimizer states in few bits, rounded stochastically: blocks of codes with a scale each, or bfloat16.

Source: Dettmers et al., arXiv 2110.02861, section 2, for blocks with a scale of their own. Codes here are companded in
closed form in place of a table: a first moment is the square of its code, a second moment the fourth power, so that
small numbers of a block keep their digits. A nearest code would never move where an update is smaller than half the
distance to the next; here the code above is taken with the probability of the distance from the one below, so that the
mean is the number itself (arXiv 1502.02551, section 3.1). A second moment above zero never gets the code of zero, which
would divide a gradient by `eps`.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Float32, Int8, Int64, Shaped, UInt8
from torch import Tensor

BLOCK = 128
"""Numbers to a scale."""
HALF_BLOCK = BLOCK // 2
LEVELS = {8: (127, 255), 4: (7, 15)}
"""Largest code of a first moment, which has a sign, and of a second one, by bits."""
OFFSET = 8
"""Added to the codes of a first moment in 4 bits, which are stored without a sign."""
ONES = 0xFFFFFFFF


class RandomNumbers(NamedTuple):
    """Random numbers for each element of a tensor."""

    weight: Int64[Tensor, "numbers"]
    """From 0 to 2^16, exclusively."""
    first: Float32[Tensor, "numbers"]
    """Between 0 and 1, as the next one."""
    second: Float32[Tensor, "numbers"]


def random_numbers(places: Int64[Tensor, "numbers"], seed: Int64[Tensor, ""]) -> RandomNumbers:
    """What is drawn for the elements at these places: a function of place and seed, so that nothing of it is saved, and
    each device draws the same. Source: the hash `lowbias32` of C. Wellons, "Prospecting for hash functions" (2018)."""
    one = mixed(mixed(places & ONES) ^ (seed & ONES))
    two = mixed(one ^ 0x9E3779B9)
    return RandomNumbers(
        one >> 16, ((one & 0xFFFF).float() + 0.5) / 65536, ((two & 0xFFFF).float() + 0.5) / 65536
    )


def mixed(x: Int64[Tensor, "*shape"]) -> Int64[Tensor, "*shape"]:
    """32 bits, each of which depends on all."""
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & ONES
    x = ((x ^ (x >> 15)) * 0x846CA68B) & ONES
    return x ^ (x >> 16)


def seed_of(count: Float[Tensor, ""], number: int) -> Int64[Tensor, ""]:
    """The seed of one update of one tensor: of its `count`-th, and of the number of the tensor."""
    return mixed(mixed(count.long() & ONES) + mixed(torch.full_like(count, number, dtype=torch.int64)))


def num_blocks(numbers: int) -> int:
    """Blocks of so many numbers, the last of which may not be full."""
    return -(-numbers // BLOCK)


def encoded_first(
    values: Float32[Tensor, "blocks block"], chance: Float32[Tensor, "blocks block"], *, bits: int
) -> tuple[Shaped[Tensor, "blocks bytes"], Float32[Tensor, "blocks"]]:
    """Codes and scales of first moments."""
    most = LEVELS[bits][0]
    scales, shares = shares_of(values)
    below = (shares.sqrt() * most).floor().clamp(max=most - 1)
    codes = rounded(below, shares, chance, most=most, power=2).copysign(values)
    return (codes.to(torch.int8) if bits == 8 else packed((codes + OFFSET).to(torch.uint8))), scales


def encoded_second(
    values: Float32[Tensor, "blocks block"], chance: Float32[Tensor, "blocks block"], *, bits: int
) -> tuple[Shaped[Tensor, "blocks bytes"], Float32[Tensor, "blocks"]]:
    """Codes and scales of second moments."""
    most = LEVELS[bits][1]
    scales, shares = shares_of(values)
    below = (shares.sqrt().sqrt() * most).floor().clamp(max=most - 1)
    codes = rounded(below, shares, chance, most=most, power=4)
    codes = torch.where(values > 0, codes.clamp(min=1), codes).to(torch.uint8)
    return (codes if bits == 8 else packed(codes)), scales


def shares_of(
    values: Float32[Tensor, "blocks block"],
) -> tuple[Float32[Tensor, "blocks"], Float32[Tensor, "blocks block"]]:
    """The largest magnitude of each block, and all magnitudes as shares of it."""
    scales = values.abs().amax(1)
    return scales, values.abs() / scales.clamp(min=torch.finfo(torch.float32).tiny)[:, None]


def rounded(below: Tensor, shares: Tensor, chance: Tensor, *, most: int, power: int) -> Tensor:
    """The code below a share or the one above, so that the mean of what they stand for is the share."""
    low, high = (below / most) ** power, ((below + 1) / most) ** power
    return below + (chance * (high - low) < shares - low)


def decoded_first(
    codes: Shaped[Tensor, "blocks bytes"], scales: Float32[Tensor, "blocks"], *, bits: int
) -> Float32[Tensor, "blocks block"]:
    """The first moments that codes stand for."""
    wide = codes.float() if bits == 8 else unpacked(codes).float() - OFFSET
    shares = wide / LEVELS[bits][0]
    return shares * shares.abs() * scales[:, None]


def decoded_second(
    codes: Shaped[Tensor, "blocks bytes"], scales: Float32[Tensor, "blocks"], *, bits: int
) -> Float32[Tensor, "blocks block"]:
    """The second moments that codes stand for."""
    squares = ((codes if bits == 8 else unpacked(codes)).float() / LEVELS[bits][1]).square()
    return squares * squares * scales[:, None]


def packed(codes: UInt8[Tensor, "blocks block"]) -> UInt8[Tensor, "blocks half"]:
    """Two codes of 4 bits to a byte: those of the first half of a block in the lower bits."""
    return codes[:, :HALF_BLOCK] | (codes[:, HALF_BLOCK:] << 4)


def unpacked(codes: UInt8[Tensor, "blocks half"]) -> UInt8[Tensor, "blocks block"]:
    """The codes that were packed."""
    return torch.cat([codes & 15, codes >> 4], dim=1)


def widened(
    narrow: Float[Tensor, "numbers"], rounded_off: Int8[Tensor, "numbers"]
) -> Float32[Tensor, "numbers"]:
    """Numbers of 24 bits from bfloat16 and the 8 bits that lie beside it: steps of 2^-8 of its own, up or down."""
    return (narrow.float().view(torch.int32) + rounded_off.int() * 256).view(torch.float32)


def split(
    values: Float32[Tensor, "numbers"], chance: Int64[Tensor, "numbers"]
) -> tuple[Float32[Tensor, "numbers"], Int8[Tensor, "numbers"]]:
    """Numbers of 24 bits, stochastically rounded, as the nearest that bfloat16 can hold and what `widened` adds to it,
    as in FlashOptim, arXiv 2602.23349."""
    bits = values.contiguous().view(torch.int32)
    bits = torch.where(values.isfinite(), bits + (chance.to(torch.int32) & 255), bits) & -256
    nearest = (bits + 0x8000) & -65536
    return nearest.view(torch.float32), ((bits - nearest) >> 8).to(torch.int8)


def narrowed(
    values: Float32[Tensor, "numbers"], chance: Int64[Tensor, "numbers"]
) -> Float32[Tensor, "numbers"]:
    """Numbers that bfloat16 can hold, one of the two next to each, right on average; see `round_stochastically`."""
    bits = values.contiguous().view(torch.int32)
    moved = ((bits + chance.to(torch.int32)) & -65536).view(torch.float32)
    return torch.where(values.isfinite(), moved, values)
