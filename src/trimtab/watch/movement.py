"""Which weights move: tensors that never change, and updates that are lost to rounding."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def mark(tensor: Tensor) -> int:
    """A number that changes when any one element does: the sum of the bits of all, each taken as a whole number.

    Cheap enough to be taken of every parameter at each evaluation; two changes could cancel each other out, which no
    update of floating-point numbers does.
    """
    flat = tensor.detach().contiguous()
    return int(flat.view(_BITS[flat.element_size()]).sum(dtype=torch.int64)) if flat.numel() else 0


def marks(model: nn.Module) -> dict[str, int]:
    """The marks of all trainable parameters by name."""
    return {name: mark(each) for name, each in model.named_parameters() if each.requires_grad}


def never_moved(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Names of the parameters whose marks are the same."""
    return [name for name, number in after.items() if before.get(name) == number]


def lost_to_rounding(weights: Float[Tensor, "*shape"], update: Float[Tensor, "*shape"]) -> float:
    """The share of the elements of an update that are not zero and yet leave their weight as it is.

    A weight in bfloat16 has 8 bits: an update smaller than 2^-9 of it rounds away (Zamirai et al., arXiv 2010.06192,
    section 3). The update may be in a wider type. 0 where nothing is to be moved.
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
