"""The numbers that go into a step and come out of it, on the device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from trimtab.distributed import ONE_RANK, Ranks
from trimtab.types import Batch


class Counts(NamedTuple):
    """How much is in a step, over all its micro-batches and ranks."""

    num_targets: int
    num_tokens: int

    @classmethod
    def of(cls, batches: Sequence[Batch], ranks: Ranks = ONE_RANK) -> "Counts":
        """The counts of these micro-batches, together with those of the other ranks."""
        mine = cls(sum(batch.num_targets for batch in batches), sum(batch.num_tokens for batch in batches))
        return mine if ranks.world_size == 1 else cls(*ranks.sum_ints(mine))


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """What the host knows of a step and the device must be told, beside its micro-batches."""

    targets: Float[Tensor, ""]
    """Targets of the whole step, at least 1; the divisor of its loss."""
    learning_rate: Float64[Tensor, ""]
    masked: Bool[Tensor, ""]
    """Whether the step is left out whatever it shows."""
    ranks: Ranks = ONE_RANK
    """Who takes the step together; with one rank nothing of them is called."""

    @classmethod
    def of(
        cls,
        counts: Counts,
        *,
        learning_rate: float,
        masked: bool,
        device: torch.device,
        ranks: Ranks = ONE_RANK,
    ) -> "StepNumbers":
        """The numbers of a step, on a device."""
        numbers = cls(
            torch.empty((), device=device),
            torch.empty((), dtype=torch.float64, device=device),
            torch.empty((), dtype=torch.bool, device=device),
            ranks,
        )
        numbers.fill(counts, learning_rate=learning_rate, masked=masked)
        return numbers

    def fill(self, counts: Counts, *, learning_rate: float, masked: bool) -> None:
        """Makes them those of another step, in the same memory; the device is not waited for."""
        self.targets.fill_(max(1, counts.num_targets))
        self.learning_rate.fill_(learning_rate)
        self.masked.fill_(masked)


class Measures(NamedTuple):
    """What one step did: see `StepReport`, whose fields these are."""

    loss: Float[Tensor, ""]
    objective: Float[Tensor, ""]
    grad_norm: Float[Tensor, ""]
    clipped: Float[Tensor, ""]
    skip_reason: Int[Tensor, ""]
    truncated: Float[Tensor, ""] | None
    clip_details: Float[Tensor, "numbers"] | None = None
