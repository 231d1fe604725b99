"""What the step asks of a clip."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor


@runtime_checkable
class Clip(Protocol):
    """Measures gradients and changes them in place, before the verdict is known."""

    def __call__(
        self, gradients: Sequence[Tensor], *, unscale: Float[Tensor, ""] | None = None
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The norm over all gradients together before clipping, and the share of tensors that were scaled down;
        `unscale` is what a loss scale left to multiply with."""
        ...

    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Learns from the step, unless it was skipped."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        ...

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        ...


@runtime_checkable
class ReportsDetails(Protocol):
    """A clip that has more to tell of a step than what it gives."""

    def details(self) -> Float[Tensor, "numbers"] | None:
        """Numbers, on the device; None before the first step."""
        ...

    def named(self, details: Sequence[float]) -> dict[str, Any]:
        """These numbers by the names that `metrics.jsonl` has for them."""
        ...
