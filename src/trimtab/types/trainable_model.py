"""What a run needs of the model that it trains, beside what every `nn.Module` has."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

Own = TypeVar("Own", bound="TrainableModel")


class TrainableModel(Protocol):
    """An `nn.Module` that a task can train. Weights that do not require a gradient are frozen: they get no gradient, no
    optimizer state and no decay, and are saved like all others."""

    def __call__(self, batch: Any) -> Tensor:
        """The forward pass over a batch of the model's task; what its loss is computed from."""
        ...

    frozen: frozenset[str]
    """Names of the weights that the recipe freezes. Any other weight that requires no gradient is a mistake."""

    begins_zero: frozenset[str]
    """Names of the weights that are zero before the first update and hide others from the gradient, as the second
    matrix of an adapter does; checks look at the model with small numbers in their place."""

    kernel: Literal["varlen", "padded"]
    """What attention runs on: flat sequences, on a GPU in half precision, or padded rows. Building a run sets it."""

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers in the order in which they run: what is compiled, checkpointed or sharded one by one."""
        ...

    @property
    def dim(self) -> int:
        """Width of the residual stream, by which the noam schedule scales."""
        ...

    def num_parameters(self) -> int:
        """Numbers in its weights, tied ones once."""
        ...

    def compile_blocks(self) -> None:
        """Compiles each block, for fixed shapes."""
        ...

    def role_of(self, name: str) -> Hashable:
        """What a parameter is for, by its name in `named_parameters`: a `config.optimizers.Role`."""
        ...

    def half_precision_copy(self: Own, dtype: torch.dtype) -> Own:
        """A copy with weights in half precision, for evaluation; what must not be rounded is not."""
        ...

    def narrowed(self: Own, dtype: torch.dtype) -> Own:
        """The model itself with weights in half precision, for a run in it; what must not be rounded is not."""
        ...


@runtime_checkable
class HasComponents(Protocol):
    """A model of components, which a clip can treat separately and ranks can divide."""

    @property
    def components(self) -> tuple[str, ...]:
        """Their names, in a fixed order."""
        ...

    def component_of(self, name: str) -> str:
        """The component that a parameter belongs to, by its name in `named_parameters`."""
        ...
