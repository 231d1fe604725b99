"""Rotary positions: queries and keys rotated, so that their product depends on the distance alone; values too, if they
are to."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.config.positions import ScaledRope
from trimtab.model.positions.kind import Positions, RotaryCosSin


class RotaryPositions(Positions):
    """A table of cosines and sines. Source: RoFormer, arXiv 2104.09864, equation 15."""

    cos_sin: Tensor

    def __init__(
        self,
        *,
        num_positions: int,
        size: int,
        theta: float,
        scaling: ScaledRope | None = None,
        values: bool = False,
    ) -> None:
        """`size` is that of a head; `values` rotates values too; see `config.positions.Rotary` for the others."""
        super().__init__()
        self.values = values
        table = rotary_table(num_positions, size, theta=theta, scaling=scaling)
        self.register_buffer("cos_sin", table, persistent=False)

    def rotate(self, positions: Int[Tensor, "tokens"]) -> RotaryCosSin:
        """The rows of these positions, shaped to multiply heads."""
        cos, sin = self.cos_sin[positions][:, None, :].chunk(2, dim=-1)
        return RotaryCosSin(cos, sin, self.values)

    def rotary_table(self) -> Float[Tensor, "positions size"]:
        """The whole table."""
        return self.cos_sin

    def keep_precision(self, original: Positions) -> None:
        """Angles of far positions would be wrong in half precision."""
        assert isinstance(original, RotaryPositions), "the module that this one is a copy of"
        self.cos_sin = original.cos_sin


def rotary_table(
    positions: int, size: int, *, theta: float, scaling: ScaledRope | None = None
) -> Float[Tensor, "positions size"]:
    """Cosines in the first half of each row, sines in the second."""
    rates = torch.exp(torch.arange(0, size, 2, dtype=torch.float32) * (-math.log(theta) / size))
    if scaling is not None:
        rates = scaled_rates(rates, scaling)
    angles = torch.arange(positions)[:, None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def scaled_rates(rates: Float[Tensor, "half"], scaling: ScaledRope) -> Float[Tensor, "half"]:
    """Radians a token, slower where wavelengths are long. Source: Llama 3.1, `_compute_llama3_parameters` of
    transformers."""
    turns = scaling.original_positions * rates / (2 * math.pi)  # in the longest text before the stretching
    low, high = scaling.low_frequency_factor, scaling.high_frequency_factor
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return rates * (kept + (1 - kept) / scaling.factor)
