"""The gradient as one long vector: measured, and scaled down where it is too long."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class GlobalNormClip:
    """Scales all gradients down together to a norm of `at`; None only measures. It has no state."""

    def __init__(self, at: float | None) -> None:
        self.at = at

    def __call__(
        self, gradients: Sequence[Tensor], *, unscale: Float[Tensor, ""] | None = None
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The norm, and 1 where it was above `at`, else 0."""
        return clip_global_norm(gradients, at=self.at, unscale=unscale)

    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Nothing is learned."""

    def to_dict(self) -> dict[str, Any]:
        """Nothing to save."""
        return {}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Nothing to continue from."""


@torch.no_grad()
def clip_global_norm(
    gradients: Sequence[Tensor], *, at: float | None, unscale: Tensor | None = None
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The norm over all gradients together, and 1 where it was above `at` and they were scaled down to it, else 0.

    `unscale` is what a loss scale left to multiply with. Source: Pascanu et al., arXiv 1211.5063, algorithm 1.
    """
    gradients = list(gradients)
    norm = torch.nn.utils.get_total_norm(gradients)
    factor = torch.ones_like(norm)
    if unscale is not None:
        norm, factor = norm * unscale, factor * unscale
    clipped = torch.zeros_like(norm)
    if at is not None:
        clipped = (norm > at).to(norm.dtype)
        factor = factor * (at / norm.clamp(min=at))
    if at is not None or unscale is not None:
        torch._foreach_mul_(gradients, factor)
    return norm, clipped
