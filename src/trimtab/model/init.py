"""The first weights, so that every variant trains: small sub-layers beside a large residual path."""

import math

import torch
from torch import nn

from trimtab.config.model import ModelConfig
from trimtab.model.block import CrossAttention, SelfAttention
from trimtab.model.feed_forward import FeedForward


@torch.no_grad()
def init_weights(model: nn.Module, config: ModelConfig, *, seed: int) -> None:
    """Fills every parameter; the same seed gives the same weights on any device.

    Embeddings have a standard deviation of dim^-1/2 and are multiplied by dim^1/2 on their way in, so the residual
    path starts at 1; each linear map is Xavier-uniform (Glorot and Bengio 2010), fused ones part by part; with the
    norm before, maps that write to the residual path are divided by the square root of the number of writers
    ("Spike No More", arXiv 2312.16903, section 4). The output matrix is tied, so first logits are near N(0, 1) and
    the first loss is near ln(vocabulary) + 1/2.
    """
    generator = torch.Generator().manual_seed(seed)
    writers = 2 * config.encoder_layers, 3 * config.decoder_layers
    for name, module in model.named_modules():
        damp = 1.0
        if config.norm_position == "before":
            damp = 1 / math.sqrt(writers[0] if name.startswith("encoder") else writers[1])
        match module:
            case SelfAttention():
                xavier(module.qkv, parts=3, gain=1.0, generator=generator)
                xavier(module.out, parts=1, gain=damp, generator=generator)
            case CrossAttention():
                xavier(module.q, parts=1, gain=1.0, generator=generator)
                xavier(module.kv, parts=2, gain=1.0, generator=generator)
                xavier(module.out, parts=1, gain=damp, generator=generator)
            case FeedForward():
                gates = 2 if config.activation == "swiglu" else 1
                xavier(module.up, parts=gates, gain=1.0, generator=generator)
                xavier(module.down, parts=1, gain=damp, generator=generator)
            case nn.Embedding():
                values = torch.randn(module.weight.shape, generator=generator) / math.sqrt(config.dim)
                module.weight.copy_(values)


def xavier(linear: nn.Linear, *, parts: int, gain: float, generator: torch.Generator) -> None:
    """Uniform in ± gain × sqrt(6 / (fan in + fan out)), where fan out is that of one of the fused parts."""
    bound = gain * math.sqrt(6 / (linear.in_features + linear.out_features // parts))
    linear.weight.copy_((torch.rand(linear.weight.shape, generator=generator) * 2 - 1) * bound)
    if linear.bias is not None:
        linear.bias.zero_()
