"""What a step, a recorded step and the guard ask of a micro-batch, whatever its task."""

from collections.abc import Hashable, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


@runtime_checkable
class Batch(Protocol):
    """One micro-batch of a step: tensors that a model reads, and how much is in it."""

    @property
    def num_targets(self) -> int:
        """How many targets count in the loss; the unit of `step.tokens_per_step`."""
        ...

    @property
    def num_tokens(self) -> int:
        """Real tokens, or items where a task has no tokens."""
        ...

    @property
    def num_slots(self) -> int:
        """How many tokens or items there would be room for in its tensors, padding included."""
        ...

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        ...

    @property
    def static_key(self) -> Hashable:
        """Shapes, and every attribute that the work on the device depends on. A recorded step is replayed for batches
        with an equal key, so counts that only the host reads (`num_targets`, `num_tokens`) are left out."""
        ...

    def tensors(self) -> list[Tensor]:
        """All its tensors, in an order that is the same for every batch with the same `static_key`."""
        ...

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device; the copy may run beside the host."""
        ...

    def pin(self) -> "Batch":
        """The same batch in page-locked memory, from which copies run beside the computation."""
        ...

    def clone(self) -> "Batch":
        """The same batch in memory of its own."""
        ...

    def blank(self) -> "Batch":
        """A batch of the same `static_key` in which nothing counts: its loss is 0 and has a gradient of 0. For ranks
        without work in a step that all take with the same kernels."""
        ...


def fill(batches: Sequence[Batch]) -> float:
    """Share of the slots of these batches that hold real tokens or items; 1 without batches, as on a rank for which a
    step has no micro-batch."""
    slots = sum(batch.num_slots for batch in batches)
    return sum(batch.num_tokens for batch in batches) / slots if slots else 1.0
