"""Which weights move: tensors that never change, and updates that are lost to rounding."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

_CHUNK = 1 << 20
"""Elements that are looked at together, so that little memory is taken."""
_FACTOR = 0x9E3779B97F4A7C1
"""Scatters the places over all bits."""
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def mark(tensor: Tensor) -> int:
    """A number that changes when an element does: the sum, modulo 2^64, of the bits of each as a whole number times an
    odd number that belongs to its place.

    Cheap enough to be taken of every parameter at each evaluation. Changes of several elements would have to cancel
    each other out with their places' factors, which no update does.
    """
    flat = tensor.detach().contiguous().flatten()
    bits = flat.view(_BITS[flat.element_size()])
    total = 0
    for start in range(0, len(bits), _CHUNK):
        part = bits[start : start + _CHUNK].to(torch.int64)
        places = torch.arange(start, start + len(part), device=part.device) * _FACTOR
        total += int((part * (2 * places + 1)).sum())
    return total % 2**64


def marks(model: nn.Module) -> dict[str, int]:
    """The marks of all trainable parameters by name."""
    return {name: mark(each) for name, each in model.named_parameters() if each.requires_grad}


def never_moved(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Names of the parameters whose marks are the same before and after."""
    return [name for name, number in after.items() if before.get(name) == number]


def lost_to_rounding(weights: Float[Tensor, "*shape"], update: Float[Tensor, "*shape"]) -> float:
    """The share of the elements of an update that are not zero and yet leave their weight as it is.

    A weight in bfloat16 has 8 bits: an update smaller than 2^-9 of it rounds away (Zamirai et al., arXiv
    2010.06192). The update may be in a wider type. 0 where nothing is to be moved.
    """
    wanted = update != 0
    moved = (weights.float() + update.float()).to(weights.dtype) != weights
    count = int(wanted.sum())
    return int((wanted & ~moved).sum()) / count if count else 0.0


def lost_share(weights: Iterable[Tensor], updates: Iterable[Tensor]) -> float:
    """The same over several tensors, each weighing as many elements as it has."""
    lost = total = 0.0
    for weight, update in zip(weights, updates, strict=True):
        count = int((update != 0).sum())
        lost += lost_to_rounding(weight, update) * count
        total += count
    return lost / total if total else 0.0
