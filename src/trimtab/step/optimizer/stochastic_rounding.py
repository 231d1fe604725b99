"""Stores float32 results in bfloat16 without losing what is too small for it: rounding by chance, right on average."""

import torch
from jaxtyping import BFloat16, Float, Float32
from torch import Tensor

from trimtab.arguments import described, wrong

DROPPED_BITS = 16
"""A bfloat16 is the upper half of a float32."""


def round_stochastically(
    values: Float32[Tensor, "*shape"], *, generator: torch.Generator | None = None
) -> BFloat16[Tensor, "*shape"]:
    """Each number becomes one of the two bfloat16 next to it, the one above with the probability of its distance from
    the one below in steps between the two, so that its mean is the number itself.

    What bfloat16 can hold stays exactly as it is, as do infinities and NaN; beyond the largest bfloat16 the neighbour
    above is infinity. Nothing waits for the device, and without a generator the numbers come from PyTorch's own.
    Raises InputError for another precision.

    Source: Gupta et al., arXiv 1502.02551, section 3.1; for training in bfloat16 arXiv 2502.20566.
    """
    if not isinstance(values, Tensor) or values.dtype != torch.float32:
        raise wrong(
            "round_stochastically: values",
            "are no float32",
            got=described(values),
            allowed="a tensor in float32, which has the digits that bfloat16 loses",
            fix="compute the new weights from `weights.float()`",
        )
    bits = values.contiguous().view(torch.int32)
    # Bits of one sign are in the order of magnitudes, so a carry out of the dropped bits gives the next bfloat16.
    chance = torch.randint(
        1 << DROPPED_BITS, bits.shape, generator=generator, device=bits.device, dtype=torch.int32
    )
    moved = ((bits + chance) & -(1 << DROPPED_BITS)).view(torch.float32)
    return torch.where(values.isfinite(), moved, values).to(torch.bfloat16)


@torch.no_grad()
def store(
    place: Float[Tensor, "*shape"],
    values: Float32[Tensor, "*shape"],
    *,
    generator: torch.Generator | None = None,
) -> None:
    """Writes new values into a tensor in its own precision: as they are, by chance in bfloat16.

    A tensor that is given its own values back keeps every bit, so that a skipped update leaves no trace.
    """
    rounded = place.dtype == torch.bfloat16
    place.copy_(round_stochastically(values, generator=generator) if rounded else values)
