"""Clipping of the gradient, and its norm, which is measured whether or not anything is clipped."""

from collections.abc import Callable, Sequence
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.config.step import Clip as ClipConfig
from trimtab.config.step import ClipGlobalNorm, ClipOff

Clip = Callable[..., tuple[Float[Tensor, ""], Float[Tensor, ""]]]


def build_clip(config: ClipConfig) -> Clip:
    """A function `(gradients, unscale=None) -> (norm, clipped)` that changes the gradients in place."""
    match config:
        case ClipGlobalNorm():
            return lambda gradients, unscale=None: clip_global_norm(gradients, at=config.at, unscale=unscale)
        case ClipOff():
            return lambda gradients, unscale=None: clip_global_norm(gradients, at=None, unscale=unscale)
        case _:
            assert_never(config)


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
