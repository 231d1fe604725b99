"""The first weights of the layers of models of images."""

import math
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from trimtab.model.block import CrossAttention, SelfAttention
from trimtab.model.feed_forward import GATED, FeedForward
from trimtab.model.init import xavier
from trimtab.model.vision.places import FactorisedPlaces, LearnedPlaces, place_std


@runtime_checkable
class Sizes(Protocol):
    """What of the settings the first weights depend on."""

    @property
    def dim(self) -> int:
        """Width of the residual stream."""
        ...

    @property
    def activation(self) -> str:
        """Of the feed-forward blocks."""
        ...

    @property
    def positions(self) -> str:
        """How the model encodes the position of a patch."""
        ...


@torch.no_grad()
def fill_layer(module: nn.Module, config: Sizes, *, damp: float, generator: torch.Generator) -> None:
    """Fills an attention, a feed-forward block, a convolution or a table of places, as `model.init` does for texts;
    others stay as they are. `damp` makes small what is added to the residual stream. Convolutions keep the variance of
    their input after a GELU (He et al. 2015, arXiv 1502.01852)."""
    match module:
        case SelfAttention():
            xavier(module.qkv, width=config.dim, gain=1.0, generator=generator)
            xavier(module.out, width=config.dim, gain=damp, generator=generator)
        case CrossAttention():
            xavier(module.q, width=config.dim, gain=1.0, generator=generator)
            xavier(module.kv, width=config.dim, gain=1.0, generator=generator)
            xavier(module.out, width=config.dim, gain=damp, generator=generator)
        case FeedForward():
            gates = 2 if config.activation in GATED else 1
            width = module.up.out_features // gates
            xavier(module.up, width=width, gain=1.0, generator=generator)
            xavier(module.down, width=config.dim, gain=damp, generator=generator)
        case nn.Conv2d():
            fan_in = module.weight[0].numel()
            draw(module.weight, math.sqrt(2 / fan_in), generator=generator)
            if module.bias is not None:
                module.bias.zero_()
        case LearnedPlaces() | FactorisedPlaces():
            for table in module.children():
                assert isinstance(table, nn.Embedding)
                draw(table.weight, place_std(config.positions), generator=generator)
        case _:
            return


@torch.no_grad()
def draw(weight: Tensor, std: float, *, generator: torch.Generator) -> None:
    """Fills a weight with normal numbers; the same generator gives the same ones on any device."""
    weight.copy_(torch.randn(weight.shape, generator=generator) * std)
