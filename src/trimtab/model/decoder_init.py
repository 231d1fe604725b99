"""The first weights of a decoder-only model."""

import math

import torch
from torch import nn

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.model.block import SelfAttention
from trimtab.model.experts import MixtureOfExperts, fill_experts
from trimtab.model.feed_forward import FeedForward
from trimtab.model.init import FIRST_GAIN, first_weights_are_left_out
from trimtab.model.mixture_of_depths import DepthRouter
from trimtab.model.norm import SubLayerNorm


@torch.no_grad()
def init_decoder(model: nn.Module, config: DecoderModel, *, seed: int) -> None:
    """Fills every parameter where it lies; on the CPU, the same seed gives the same weights for any device.

    Embeddings and linear maps are normal with a standard deviation of sqrt(2 / (5 dim)) (arXiv 1910.05895, section
    2.2): 0.02 at 1024 wide. With the norm before, maps that write to the residual path are divided by the square root
    of how many of them there are, two a layer (GPT-2, section 2.3), so that the variance at the end does not depend on
    the depth. Embeddings are small beside what the layers add, so that a tied output does not begin by predicting its
    own input, and the first loss is near ln(vocabulary). Norms begin at one, biases at zero; but norms after the sum
    make embeddings large again, and with `rezero` the last norm sees nothing else, and so the gain of the last one
    begins where the logit of the own input is at most FIRST_GAIN. A norm of what a sub-layer adds is divided as the map
    before it.

    With `mup_base_dim`, embeddings and output have the standard deviation of a model of that width, and the gain of the
    last norm begins at mup_base_dim / dim: muP's output multiplier (arXiv 2203.03466, table 8).
    """
    if first_weights_are_left_out():
        return
    device = next(model.parameters()).device
    generator = torch.Generator("cpu" if device.type == "meta" else device).manual_seed(seed)
    std = math.sqrt(2 / (5 * config.dim))
    damp = 1 / math.sqrt(2 * config.layers) if config.norm_position in SUM_WITHOUT_NORM else 1.0
    for module in model.modules():
        match module:
            case SubLayerNorm() if module.last is not None:
                module.last.weight.fill_(damp)
            case SelfAttention():
                normal(module.qkv, std=std, generator=generator)
                normal(module.out, std=std * damp, generator=generator)
            case MixtureOfExperts():
                fill_experts(module, generator=generator, std=std, damp=damp)
            case DepthRouter():
                module.weight.normal_(0.0, std, generator=generator)
            case FeedForward():
                normal(module.up, std=std, generator=generator)
                normal(module.down, std=std * damp, generator=generator)
            case nn.Embedding():
                module.weight.normal_(0.0, first_std(config), generator=generator)
    if config.mup_base_dim is not None:
        model.decoder.norm.weight.fill_(config.mup_base_dim / config.dim)
    largest = min(1.0, FIRST_GAIN / (config.dim * std))
    if config.norm_position not in SUM_WITHOUT_NORM:
        last = model.decoder.blocks[-1].norm_feed_forward
        (last.first if isinstance(last, SubLayerNorm) else last).weight.fill_(largest)
    elif config.rezero:
        model.decoder.norm.weight.fill_(largest)


def first_std(config: DecoderModel) -> float:
    """Standard deviation of the first embeddings."""
    return math.sqrt(2 / (5 * (config.mup_base_dim or config.dim)))


def normal(linear: nn.Linear, *, std: float, generator: torch.Generator) -> None:
    """Normal weights, and a bias of zero where there is one."""
    linear.weight.normal_(0.0, std, generator=generator)
    if linear.bias is not None:
        linear.bias.zero_()
