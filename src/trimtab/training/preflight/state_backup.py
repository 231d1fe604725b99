"""Copies of weights and moments for a check that changes them: beside the originals where a GPU has room, since a copy
in host memory takes much longer."""

from collections.abc import Mapping

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

SHARE = 4
"""Copies on a GPU take at most one part in so many of what is free there, which is what the largest batch has left:
the step of a check asks for moments of its own beside them, and must find the room that it finds without them."""


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Weights and buffers of a model by name."""
    return dict([*model.named_parameters(), *model.named_buffers()])


def backup(tensors: Mapping[str, Shaped[Tensor, "..."]]) -> dict[str, Tensor]:
    """The tensors as they are now, by the same names; no later change reaches them. Those of a GPU with little memory
    left are copied to the host, and so are all where it runs out anyway."""
    try:
        beside = fits_beside(tensors)
        return {name: copied(tensor, beside=beside) for name, tensor in tensors.items()}
    except torch.OutOfMemoryError:
        return {name: copied(tensor, beside=False) for name, tensor in tensors.items()}


def fits_beside(tensors: Mapping[str, Shaped[Tensor, "..."]]) -> bool:
    """Whether each device has memory for copies of its tensors beside them; the host has."""
    needed: dict[torch.device, int] = {}
    for tensor in tensors.values():
        needed[tensor.device] = needed.get(tensor.device, 0) + tensor.nbytes
    return all(
        device.type != "cuda" or SHARE * size <= torch.cuda.mem_get_info(device)[0]
        for device, size in needed.items()
    )


def copied(tensor: Shaped[Tensor, "*shape"], *, beside: bool) -> Shaped[Tensor, "*shape"]:
    """A copy, where the tensor lies or in host memory."""
    return tensor.detach().clone() if beside else tensor.detach().to("cpu", copy=True)
