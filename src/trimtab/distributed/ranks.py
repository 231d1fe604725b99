"""The processes that take a step together, as the step sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Ranks(Protocol):
    """This process among those that train one model. Every rank makes the same calls in the same order; each call
    returns once all of them have made it, and what it gives is equal to the last bit on every rank."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        ...

    @property
    def world_size(self) -> int:
        """How many processes there are."""
        ...

    @property
    def is_first(self) -> bool:
        """Whether this process writes checkpoints, logs and everything else in the run folder."""
        ...

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Replaces each tensor by its sum over ranks, added in float32 or wider; shapes are equal on every rank."""
        ...

    def sum_ints(self, numbers: Sequence[int], *, patient: bool = False) -> list[int]:
        """Sums of numbers that the host knows; a GPU is not waited for. With `patient` the others may take any time to
        come to it."""
        ...

    def gather(self, content: Any) -> list[Any]:
        """What every rank has, in the order of ranks: anything that JSON can hold."""
        ...

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Replaces each tensor by that of the first rank."""
        ...

    def barrier(self) -> None:
        """Returns once every rank has come here."""
        ...


@runtime_checkable
class SumsByComponent(Ranks, Protocol):
    """Ranks of which each has the gradients of some components alone; see `PlacedRanks`."""

    squares: Tensor | None
    """Squared norms of the gradients of all components, float64 and summed over ranks; None before the first step."""

    def train_own(self) -> None:
        """Leaves the weights of other ranks to them."""
        ...

    def sum_gradients(self) -> Tensor:
        """Sums the gradients of each component over its holders; this rank's part of `squares`."""
        ...


@dataclass(frozen=True, slots=True)
class OneRank:
    """A process that trains alone: every sum is what it is already, and nothing is waited for."""

    rank: int = 0
    world_size: int = 1
    is_first: bool = True

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Leaves them as they are."""

    def sum_ints(self, numbers: Sequence[int], *, patient: bool = False) -> list[int]:
        """The numbers themselves."""
        return list(numbers)

    def gather(self, content: Any) -> list[Any]:
        """What there is, alone."""
        return [content]

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Leaves them as they are."""

    def barrier(self) -> None:
        """Returns at once."""


ONE_RANK = OneRank()
"""The only process of an ordinary run."""
