"""What the step asks of an optimizer."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor, nn


@runtime_checkable
class Optimizer(Protocol):
    """Moves the weights, or does not: a skipped update changes nothing, not even a moment."""

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves."""
        ...

    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update from the gradients that lie on the parameters; where `skip` is true, none. All state stays in the
        same memory."""
        ...

    def state_tensors(self) -> dict[str, Float[Tensor, "..."]]:
        """Everything that resume needs, by parameter name."""
        ...

    def load_state_tensors(self, saved: dict[str, Float[Tensor, "..."]]) -> None:
        """Goes on from saved state; strict about names and shapes."""
        ...


@runtime_checkable
class UpdatesTensors(Protocol):
    """An optimizer that can also move one tensor after another, so that no two gradients need to be there at once."""

    @property
    def named(self) -> Mapping[str, nn.Parameter]:
        """All that it moves, by name."""
        ...

    def update_tensor(
        self, name: str, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]
    ) -> None:
        """The update of one tensor from the gradient that lies on it; where `skip` is true, none."""
        ...

    def after_update(self, *, skip: Bool[Tensor, ""]) -> None:
        """Ends an update, once every tensor with a gradient had its own."""
        ...
