"""The gradient as one long vector: measured, and scaled down where it is too long."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from trimtab.arguments import real_number
from trimtab.step.clip.gradients import gradients_of, local_parts, norm_over_ranks


class GlobalNormClip:
    """Scales all gradients down together to a norm of `at`; None only measures. It has no state."""

    def __init__(self, at: float | None, *, norm_of_step: Callable[[], Tensor] | None = None) -> None:
        """`norm_of_step` gives the norm over all ranks where each has the gradients of some weights alone."""
        self.at = at
        self.norm_of_step = norm_of_step

    def __call__(
        self, gradients: Sequence[Tensor], *, unscale: Float[Tensor, ""] | None = None
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The norm, and 1 where it was above `at`, else 0."""
        norm = None if self.norm_of_step is None else self.norm_of_step()
        return scale_to_norm(gradients, at=self.at, unscale=unscale, norm=norm)

    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Nothing is learned."""

    def to_dict(self) -> dict[str, Any]:
        """Nothing to save."""
        return {}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Nothing to continue from."""


def clip_global_norm(
    parameters: Iterable[Tensor] | Tensor, *, at: float | None, unscale: Tensor | None = None
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The norm over all gradients together, and 1 where it was above `at` and they were scaled down to it, else 0.

    Takes parameters, as `torch.nn.utils.clip_grad_norm_` does, and scales the gradients that lie on them; or gradients.
    With `at` None or infinite, it only measures. Parameters of `fully_shard` are measured over all ranks. `unscale` is
    what a loss scale left to multiply with. Raises InputError for an `at` that is not above 0, for no parameter at all,
    such as from a generator that is used up, and for what is neither parameters nor gradients.

    Source: Pascanu et al., arXiv 1211.5063, algorithm 1.
    """
    if at is not None:
        at = real_number(
            at,
            name="clip_global_norm: at",
            above=0.0,
            fix="pass the largest norm allowed, usually 1.0, or None",
        )
    gradients = gradients_of(parameters, part="clip_global_norm")
    return scale_to_norm(gradients, at=None if at == math.inf else at, unscale=unscale)


@torch.no_grad()
def scale_to_norm(
    gradients: Sequence[Tensor],
    *,
    at: float | None,
    unscale: Tensor | None = None,
    norm: Tensor | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """What `clip_global_norm` does, of gradients; `norm` is theirs where it was measured already."""
    gradients = list(gradients)
    measured = norm_over_ranks(gradients) if norm is None else norm
    norm, clipped, factor = factor_to_norm(measured, at=at, unscale=unscale)
    if (at is not None or unscale is not None) and gradients:
        torch._foreach_mul_(local_parts(gradients), factor)
    return norm, clipped


def factor_to_norm(
    norm: Float[Tensor, ""], *, at: float | None, unscale: Tensor | None = None
) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, ""]]:
    """The norm without the loss scale, 1 where it is above `at`, and what gradients are multiplied by."""
    factor = torch.ones_like(norm)
    if unscale is not None:
        norm, factor = norm * unscale, factor * unscale
    clipped = torch.zeros_like(norm)
    if at is not None:
        clipped = (norm > at).to(norm.dtype)
        factor = factor * (at / norm.clamp(min=at))
    return norm, clipped, factor
