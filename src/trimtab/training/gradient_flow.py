"""How much of the gradient reaches each weight, on one batch."""

import torch
from torch import Tensor, nn

from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.training.position_use import mean_loss
from trimtab.types import IGNORE, PackedBatch

SPARE = 3
"""Times the memory of the weights that must be free on a GPU: gradients of the weights and of what lies between."""


def gradient_flow(model: nn.Module, batch: object) -> dict[str, float]:
    """The root mean square of the gradient of each trained weight, by its name: one that is orders of magnitude smaller
    than its neighbours learns slowly, and zero learns nothing (Glorot and Bengio 2010, section 4.2).

    Gradients in `.grad` stay as they are. Empty for other models and for a batch without labels, and on a GPU where
    memory for a second set of gradients is not free.
    """
    match model, batch:
        case (EncoderDecoder() | DecoderOnly(), PackedBatch()) if bool((batch.labels != IGNORE).any()):
            return _gradient_flow(model, batch)
        case _:
            return {}


def _gradient_flow(model: EncoderDecoder | DecoderOnly, batch: PackedBatch) -> dict[str, float]:
    weights = {name: each for name, each in model.named_parameters() if each.requires_grad and each.numel()}
    if not weights or not has_room(weights):
        return {}
    with torch.enable_grad():
        loss = mean_loss(model, model(batch), batch)
        gradients = torch.autograd.grad(loss, [*weights.values()], allow_unused=True)
    sizes = [
        torch.zeros((), device=weight.device)
        if gradient is None
        else gradient.detach().float().square().mean().sqrt()
        for gradient, weight in zip(gradients, weights.values(), strict=True)
    ]
    return dict(zip(weights, torch.stack(sizes).tolist(), strict=True))


def has_room(weights: dict[str, Tensor]) -> bool:
    """Whether a backward pass beside the run's own is sure to fit."""
    device = next(iter(weights.values())).device
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return free > SPARE * sum(each.numel() * each.element_size() for each in weights.values())
