"""The verdict before the weights move."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def must_skip(objective: Float[Tensor, ""], grad_norm: Float[Tensor, ""]) -> Bool[Tensor, ""]:
    """True where the objective or the gradient norm is not finite; stays on the device.

    The norm is over every gradient, so one bad number anywhere makes it so.
    """
    return ~(torch.isfinite(objective) & torch.isfinite(grad_norm))
