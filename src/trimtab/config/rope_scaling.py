"""How rotary positions are stretched for longer texts."""

from typing import Literal

from pydantic import Field, model_validator

from trimtab.config.positions import ScaledRope
from trimtab.config.settings import Settings


class RopeScaling(Settings):
    """Rotary positions for longer texts, as Llama 3.1 stretches them: long wavelengths by a factor, short ones not at
    all, those between by something between."""

    kind: Literal["llama3"] = "llama3"
    factor: float = Field(ge=1, le=1024)
    """How much the longest wavelengths are stretched."""
    low_frequency_factor: float = Field(default=1.0, gt=0, le=1024)
    """Wavelengths above `original_positions` divided by this are stretched in full."""
    high_frequency_factor: float = Field(default=4.0, gt=0, le=1024)
    """Wavelengths below `original_positions` divided by this stay as they are; larger than `low_frequency_factor`."""
    original_positions: int = Field(default=8192, ge=1, le=10_000_000)
    """The longest text before the stretching, in tokens."""

    @model_validator(mode="after")
    def _in_order(self) -> "RopeScaling":
        if self.high_frequency_factor <= self.low_frequency_factor:
            raise ValueError(
                f"high_frequency_factor: got {self.high_frequency_factor:g}; allowed is more than "
                f"low_frequency_factor, {self.low_frequency_factor:g}"
            )
        return self

    @property
    def record(self) -> ScaledRope:
        """For the record of the positions."""
        return ScaledRope(
            self.factor, self.low_frequency_factor, self.high_frequency_factor, self.original_positions
        )
