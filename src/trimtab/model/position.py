"""How the model knows where a token stands in its sentence: sinusoidal or learned vectors, or rotated queries."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Rotation(NamedTuple):
    """Cosine and sine for each token, as rotary positions need them."""

    cos: Float[Tensor, "tokens 1 half"]
    sin: Float[Tensor, "tokens 1 half"]

    def rotate(self, x: Float[Tensor, "tokens heads size"]) -> Float[Tensor, "tokens heads size"]:
        """Turns each pair (i, i + size/2) of a head's values by the angle of its token's position."""
        first, second = x.float().chunk(2, dim=-1)
        turned = torch.cat(
            [first * self.cos - second * self.sin, second * self.cos + first * self.sin], dim=-1
        )
        return turned.to(x.dtype)


def sinusoidal_table(positions: int, dim: int) -> Float[Tensor, "positions dim"]:
    """Sines in the first half of each row, cosines in the second. Source: arXiv 1706.03762, section 3.5."""
    rates = torch.exp(torch.arange(dim // 2) * (-math.log(10000.0) / (dim // 2)))
    angles = torch.arange(positions)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def rotation_table(positions: int, size: int, *, theta: float = 10000.0) -> Float[Tensor, "positions size"]:
    """Cosines in the first half of each row, sines in the second. Source: RoFormer, arXiv 2104.09864, equation 15."""
    rates = torch.exp(torch.arange(0, size, 2) * (-math.log(theta) / size))
    angles = torch.arange(positions)[:, None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def rotation_at(
    table: Float[Tensor, "positions size"] | None, positions: Int[Tensor, "tokens"]
) -> Rotation | None:
    """The table's rows for these positions, shaped to multiply heads; none where there is no table."""
    if table is None:
        return None
    cos, sin = table[positions][:, None, :].chunk(2, dim=-1)
    return Rotation(cos, sin)
