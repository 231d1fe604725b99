"""Layers whose activations are not kept, but computed again in the backward pass."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Recompute = Literal["none", "feed_forward", "block"]


@runtime_checkable
class RecomputesFeedForward(Protocol):
    """A layer that can compute its feed-forward sub-layer again."""

    recomputes: bool


def recomputed(function: Callable[..., Any], *inputs: Any, draws: bool = False, **given: Any) -> Any:
    """What a function gives, keeping its inputs alone; the backward pass computes it again, with the same bits.

    `draws` says that it draws random numbers, such as those of dropout, which are then drawn again alike. That reads
    the state of the generator, which a CUDA graph cannot record. Without gradients nothing is kept in any case, and it
    is called as it is. Source: Chen et al., arXiv 1604.06174; PyTorch's non-reentrant form, which works with frozen
    weights and with inputs that need no gradient.
    """
    if not torch.is_grad_enabled():
        return function(*inputs, **given)
    return checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=draws, **given)


def layer_output(
    block: nn.Module, x: Float[Tensor, "*tokens dim"], *inputs: Any, recompute: Recompute, **given: Any
) -> Any:
    """What a layer gives, computed again in the backward pass where `recompute` is `block`.

    A compiled layer is called as a whole, so that the code which is compiled knows nothing of it."""
    if recompute != "block":
        return block(x, *inputs, **given)
    return recomputed(block, x, *inputs, draws=has_dropout(block), **given)


def has_dropout(block: nn.Module) -> bool:
    """Whether a layer draws random numbers in training."""
    residual = getattr(block, "residual", None)
    return block.training and any(getattr(residual, name, 0.0) > 0 for name in ("dropout", "skip_chance"))


def set_feed_forward(blocks: Iterable[nn.Module], *, recomputes: bool) -> None:
    """Says of each layer whether its feed-forward sub-layer is computed again in the backward pass."""
    for block in blocks:
        if isinstance(block, RecomputesFeedForward):
            block.recomputes = recomputes
