"""Normal numbers as a function of a key and a place, made where the model runs.

The noise of an image follows from the seed, the epoch and the image alone: not from the batch that the image is in, nor
from what was drawn before. So a step has the same gradient however it is cut, and nothing has to be saved for resuming.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

GOLDEN = 0x9E3779B97F4A7C15 - 2**64
FIRST, SECOND = 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64
"""The constants of SplitMix64 as signed numbers, whose products wrap alike."""
BITS = 24
"""Of each uniform number, as many as float32 holds."""


def normals(keys: Int[Tensor, "images"], count: int) -> Float[Tensor, "images count"]:
    """So many standard normal numbers for each key, float32, on the device of the keys; the first ones do not depend on
    the count.

    Box and Muller 1958, of the words of SplitMix64 (`data.order.uniform` has them on the host). Of 24 bits, so that
    none is beyond 5.9 standard deviations.
    """
    index = torch.arange(1, -(-count // 2) + 1, device=keys.device)
    words = mixed(keys[:, None] + index * GOLDEN)
    mask = 2**BITS - 1
    first = ((words >> 40) & mask).float().add_(0.5).mul_(2.0**-BITS)
    second = ((words >> 16) & mask).float().mul_(2.0**-BITS * 2 * math.pi)
    radius = first.log().mul_(-2).sqrt()
    return torch.stack([radius * second.cos(), radius * second.sin()], dim=-1).flatten(1)[:, :count]


def mixed(words: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 14) of 64 bits in signed numbers."""
    words = (words ^ shifted(words, 30)) * FIRST
    words = (words ^ shifted(words, 27)) * SECOND
    return words ^ shifted(words, 31)


def shifted(words: Int[Tensor, "*shape"], bits: int) -> Int[Tensor, "*shape"]:
    """Shifted to the right with zeros coming in, also where the number is negative."""
    return (words >> bits) & (2 ** (64 - bits) - 1)
