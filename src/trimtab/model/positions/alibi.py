"""ALiBi: a penalty on the scores of attention that grows with the distance, steeper for some heads than for others."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.model.positions.kind import Positions


class AlibiPositions(Positions):
    """Attention with linear biases. Source: Press et al. 2022, arXiv 2108.12409, section 3."""

    slopes: Tensor

    def __init__(self, *, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(heads), persistent=False)

    def bias(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Float[Tensor, "*rows heads queries keys"]:
        """Minus the distance, times the slope of each head."""
        distance = (queries[..., :, None] - keys[..., None, :]).abs()
        return -self.slopes[:, None, None] * distance[..., None, :, :]

    def keep_precision(self, original: Positions) -> None:
        """Distances are multiplied by the slopes, and differences of large products must not be rounded away."""
        assert isinstance(original, AlibiPositions), "the module that this one is a copy of"
        self.slopes = original.slopes


def alibi_slopes(heads: int) -> Float[Tensor, "heads"]:
    """A geometric sequence from 2^(-8 / heads) to 2^-8; for a number of heads that is no power of two, that of the next
    smaller power and every other member of that of the next larger one, as in the authors' code."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * number / power) for number in range(1, power + 1)]
    between = [2 ** (-4 * number / power) for number in range(1, 2 * power + 1, 2)]
    return torch.tensor(slopes + between[: heads - power])
