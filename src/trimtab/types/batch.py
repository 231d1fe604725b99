"""What a step, a recorded step and the guard ask of a micro-batch, whatever its task."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

Own = TypeVar("Own", bound="TensorBatch")


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


@runtime_checkable
class LeavesWeightsOut(Protocol):
    """A micro-batch whose forward pass uses some of the trainable weights, such as the components of one direction.

    A step of such batches updates all weights all the same, those without a gradient by one of zero.
    """

    @property
    def leaves_weights_out(self) -> bool:
        """Whether it may use some of them alone."""
        ...


class TensorBatch(ABC):
    """The part of a `Batch` that follows from its tensors."""

    __slots__ = ()

    @abstractmethod
    def tensors(self) -> list[Tensor]:
        """See `Batch.tensors`."""

    @abstractmethod
    def map(self: Own, change: Callable[[Tensor], Tensor]) -> Own:
        """The same batch with each tensor changed by a function."""

    @property
    def device(self) -> torch.device:
        """See `Batch.device`."""
        return self.tensors()[0].device

    def to(self: Own, device: torch.device) -> Own:
        """See `Batch.to`."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin(self: Own) -> Own:
        """See `Batch.pin`."""
        return self.map(Tensor.pin_memory)

    def clone(self: Own) -> Own:
        """See `Batch.clone`."""
        return self.map(Tensor.clone)


def fill(batches: Sequence[Batch]) -> float:
    """Share of the slots of these batches that hold real tokens or items; 1 without batches, as on a rank for which a
    step has no micro-batch."""
    slots = sum(batch.num_slots for batch in batches)
    return sum(batch.num_tokens for batch in batches) / slots if slots else 1.0
