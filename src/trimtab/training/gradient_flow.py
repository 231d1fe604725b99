"""How much of the gradient reaches each weight, on a few rows of one batch."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.training.first_rows import first_rows
from trimtab.training.position_use import mean_loss
from trimtab.types import IGNORE, PackedBatch

SPARE = 3
"""Times the memory of the trained weights: for their gradients, and for those of what lies between."""
LAYER_BYTES = 68
"""Bytes that a layer keeps for each token and value of its width: 34 in half precision (Korthikanti et al. 2022,
arXiv 2205.05198, equation 1), in float32 twice as many."""
LOGIT_BYTES = 12
"""Bytes for each logit: the logits, their log-probabilities and the gradient, in float32."""


def gradient_flow(model: nn.Module, batch: object) -> dict[str, float]:
    """The root mean square of the gradient of each trained weight, by its name: one that is orders of magnitude smaller
    than its neighbours learns slowly, and zero learns nothing (Glorot and Bengio 2010, section 4.2). The loss is the
    mean over the first rows of the batch.

    Gradients in `.grad` stay as they are. Empty for other models, for rows without labels, on a GPU whose free memory
    does not suffice, in float16, where gradients of a mean loss round to zero without a loss scale, and for models that
    are divided among ranks: the whole copy that evaluations score has no trained weights
    (`distributed.sharding.Sharding.plain_copy`).
    """
    match model, batch:
        case (EncoderDecoder() | DecoderOnly(), PackedBatch()) if batch.num_segments:
            return _gradient_flow(model, first_rows(batch))
        case _:
            return {}


def _gradient_flow(model: EncoderDecoder | DecoderOnly, batch: PackedBatch) -> dict[str, float]:
    weights = {name: each for name, each in model.named_parameters() if each.requires_grad and each.numel()}
    labelled = bool((batch.labels != IGNORE).any())
    if not weights or not labelled or is_float16(weights, batch.labels.device):
        return {}
    if not has_free_memory(needed_bytes(model, batch, weights), batch.labels.device):
        return {}
    try:
        return gradient_sizes(model, batch, weights)
    except torch.OutOfMemoryError:
        pass  # what the pass has kept is freed when this block ends
    torch.cuda.empty_cache()
    return {}


def gradient_sizes(
    model: EncoderDecoder | DecoderOnly, batch: PackedBatch, weights: Mapping[str, Tensor]
) -> dict[str, float]:
    """The root mean square of the gradient of each of these weights."""
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


def is_float16(weights: Mapping[str, Tensor], device: torch.device) -> bool:
    """Whether gradients are float16: those of a copy in it, or of products under autocast."""
    cast = torch.is_autocast_enabled(device.type) and torch.get_autocast_dtype(device.type) == torch.float16
    return cast or any(each.dtype == torch.float16 for each in weights.values())


def needed_bytes(
    model: EncoderDecoder | DecoderOnly, batch: PackedBatch, weights: Mapping[str, Tensor]
) -> int:
    """About the memory of a forward and a backward pass for these weights, rather too much than too little."""
    layers = sum(isinstance(each, EncoderBlock | DecoderBlock) for each in model.modules())
    kept = LAYER_BYTES * layers * model.dim * batch.num_slots
    logits = LOGIT_BYTES * model.num_ids * len(batch.labels)
    return SPARE * sum(each.numel() * each.element_size() for each in weights.values()) + kept + logits


def has_free_memory(needed: int, device: torch.device) -> bool:
    """Whether so many bytes are free; on a CPU always."""
    return device.type != "cuda" or torch.cuda.mem_get_info(device)[0] > needed
