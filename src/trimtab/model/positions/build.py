"""The module for the settings of a model's positions."""

from typing import NamedTuple, assert_never

from trimtab.config import positions as settings_of
from trimtab.model.positions.alibi import AlibiPositions
from trimtab.model.positions.combined import CombinedPositions
from trimtab.model.positions.kind import Positions
from trimtab.model.positions.learned import LearnedPositions
from trimtab.model.positions.rotary import RotaryPositions
from trimtab.model.positions.shaw import ShawPositions
from trimtab.model.positions.sinusoidal import SinusoidalPositions
from trimtab.model.positions.t5 import RelativeBiasPositions


class Sizes(NamedTuple):
    """What positions must know of one side of a model."""

    num_positions: int
    """No segment is longer."""
    dim: int
    heads: int
    scale_of_sines: float
    """What sines are multiplied by."""
    scale_of_learned: float
    """What learned vectors are multiplied by."""
    head_size: int | None = None
    """Numbers in each head, where that is not dim / heads."""
    bidirectional: bool = False
    """Whether tokens see what comes after them, as in an encoder."""


def build_positions(settings: settings_of.PositionSettings, sizes: Sizes) -> Positions:
    """The positions of one side; learned ones are not filled yet."""
    shape = {"num_positions": sizes.num_positions, "dim": sizes.dim}
    match settings:
        case settings_of.Combined():
            parts = (build_positions(each, sizes) for each in settings_of.parts_of(settings))
            return CombinedPositions(*parts)
        case settings_of.Sinusoidal():
            return SinusoidalPositions(**shape, scale=sizes.scale_of_sines)
        case settings_of.Learned():
            return LearnedPositions(**shape, scale=sizes.scale_of_learned)
        case settings_of.Rotary() | settings_of.RotaryValues():
            return RotaryPositions(
                num_positions=sizes.num_positions,
                size=sizes.head_size or sizes.dim // sizes.heads,
                theta=settings.theta,
                scaling=settings.scaling,
                values=isinstance(settings, settings_of.RotaryValues),
            )
        case settings_of.Alibi():
            return AlibiPositions(heads=sizes.heads)
        case settings_of.RelativeBias():
            return RelativeBiasPositions(heads=sizes.heads, bidirectional=sizes.bidirectional)
        case settings_of.RelativeVectors():
            return ShawPositions(bidirectional=sizes.bidirectional)
        case settings_of.NoPositions():
            return Positions()
        case _:
            assert_never(settings)
