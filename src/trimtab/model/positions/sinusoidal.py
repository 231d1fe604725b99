"""Sinusoidal positions: sines and cosines added to the embeddings."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.model.positions.kind import Positions


class SinusoidalPositions(Positions):
    """A fixed table of vectors. Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5."""

    sines: Tensor

    def __init__(self, *, num_positions: int, dim: int, scale: float) -> None:
        """`scale` is what the sines are multiplied by, so that they begin as large as the embeddings."""
        super().__init__()
        self.register_buffer("sines", sinusoidal_table(num_positions, dim) * scale, persistent=False)

    def embed(
        self, x: Float[Tensor, "tokens dim"], positions: Int[Tensor, "tokens"]
    ) -> Float[Tensor, "tokens dim"]:
        """Adds the row of each position."""
        return x + self.sines[positions]

    def table(self) -> Float[Tensor, "positions dim"]:
        """The sines at their scale."""
        return self.sines


def sinusoidal_table(positions: int, dim: int) -> Float[Tensor, "positions dim"]:
    """Sines in the first half of each row, cosines in the second."""
    rates = torch.exp(torch.arange(dim // 2, dtype=torch.float32) * (-math.log(10000.0) / (dim // 2)))
    angles = torch.arange(positions)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
