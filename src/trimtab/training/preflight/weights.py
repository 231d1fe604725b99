"""The weights of a model in checks: their gradients as one vector, and their names in messages."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def gathered(model: nn.Module) -> Float[Tensor, "weights"]:
    """The gradients on the model's weights as one vector, taken off them; zeros if there is none."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    found = [torch.zeros_like(each) if each.grad is None else each.grad for each in weights]
    for weight in weights:
        weight.grad = None
    return torch.cat([each.flatten() for each in found])


def named(names: list[str], *, of: int | None = None, most: int = 3) -> str:
    """The first few names, and how many there are besides."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    whole = f" ({len(names):,} of {of:,})" if of is not None else ""
    return ", ".join(names[:most]) + more + whole
