"""The numbers that go into a step and come out of it, on the device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from trimtab.flow import Pack


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """What the host knows of a step and the device must be told, beside its packs."""

    targets: Float[Tensor, ""]
    """Targets of the whole window, at least 1; the divisor of its loss."""
    learning_rate: Float64[Tensor, ""]
    masked: Bool[Tensor, ""]
    """Whether the step is left out whatever it shows."""

    @classmethod
    def of(cls, packs: Sequence[Pack], *, learning_rate: float, masked: bool) -> "StepNumbers":
        """The numbers of a step, on the device of its packs."""
        device = packs[0].labels.device
        numbers = cls(
            torch.empty((), device=device),
            torch.empty((), dtype=torch.float64, device=device),
            torch.empty((), dtype=torch.bool, device=device),
        )
        numbers.fill(packs, learning_rate=learning_rate, masked=masked)
        return numbers

    def fill(self, packs: Sequence[Pack], *, learning_rate: float, masked: bool) -> None:
        """Makes them those of another step, in the same memory; the device is not waited for."""
        self.targets.fill_(max(1, sum(pack.num_targets for pack in packs)))
        self.learning_rate.fill_(learning_rate)
        self.masked.fill_(masked)


class Measures(NamedTuple):
    """What one step did: see `StepReport`, whose fields these are."""

    loss: Float[Tensor, ""]
    objective: Float[Tensor, ""]
    grad_norm: Float[Tensor, ""]
    clipped: Float[Tensor, ""]
    refusal: Int[Tensor, ""]
    truncated: Float[Tensor, ""] | None
