"""An autoencoder in the shape of TAESD, with the names of weights that `AutoencoderTiny` of diffusers has."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.model.recompute import Recompute, layer_output

MOST_LATENT = 3.0
"""What the decoder limits latents to, softly: 3 tanh(x / 3)."""


@dataclass(frozen=True, slots=True)
class AutoencoderShape:
    """The sizes of an autoencoder."""

    image_channels: int
    latent_channels: int
    dim: int
    blocks: tuple[int, ...]
    """Residual blocks of the encoder at each resolution, the highest first; the decoder has them in reverse."""

    @property
    def reduction(self) -> int:
        """Pixels for a cell of the latent, in each direction."""
        return 2 ** (len(self.blocks) - 1)


class ResidualBlock(nn.Module):
    """Three convolutions whose result is added to their input, and a ReLU."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        convolutions = [nn.Conv2d(dim, dim, 3, padding=1) for _ in range(3)]
        self.conv = nn.Sequential(convolutions[0], nn.ReLU(), convolutions[1], nn.ReLU(), convolutions[2])

    def forward(
        self, x: Float[Tensor, "images dim rows columns"]
    ) -> Float[Tensor, "images dim rows columns"]:
        """At the same resolution."""
        return torch.relu(self.conv(x) + x)


class Layers(nn.Module):
    """Layers one after another, of which the residual blocks can be recomputed in the backward pass.

    Images are `channels_last` in memory, as the tensor cores of NVIDIA read them: on an H200 a step in bfloat16
    takes 19.1 ms instead of 26.5 (`benchmarks/conv_layout.json`). Weights and gradients stay as they are stored.
    """

    recompute: Recompute = "none"

    def __init__(self, layers: Iterator[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(
        self, x: Float[Tensor, "images in rows columns"]
    ) -> Float[Tensor, "images out rows2 columns2"]:
        """The output of the last layer."""
        for layer in self.layers:
            # Before each layer: an image of one channel has no layout that the next layer could go on in.
            x = x.contiguous(memory_format=torch.channels_last)
            is_block = isinstance(layer, ResidualBlock)
            x = layer_output(layer, x, recompute=self.recompute) if is_block else layer(x)
        return x


class Autoencoder(nn.Module):
    """From images to latents and back. Images are from -1 to 1, and grey or with three channels."""

    def __init__(self, shape: AutoencoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.encoder, self.decoder = Layers(_encoder(shape)), Layers(_decoder(shape))

    def encode(
        self, x: Float[Tensor, "images channels rows columns"]
    ) -> Float[Tensor, "images latent rows2 columns2"]:
        """The latents of images whose sides are multiples of `shape.reduction`."""
        return self.encoder((x + 1) / 2)

    def decode(
        self, z: Float[Tensor, "images latent rows columns"]
    ) -> Float[Tensor, "images channels rows2 columns2"]:
        """The images of latents."""
        return self.decoder(torch.tanh(z / MOST_LATENT) * MOST_LATENT) * 2 - 1

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The residual blocks, those of the encoder first."""
        both = (*self.encoder.layers, *self.decoder.layers)
        return tuple(layer for layer in both if isinstance(layer, ResidualBlock))


def _encoder(shape: AutoencoderShape) -> Iterator[nn.Module]:
    for number, count in enumerate(shape.blocks):
        if number == 0:
            yield nn.Conv2d(shape.image_channels, shape.dim, 3, padding=1)
        else:
            yield nn.Conv2d(shape.dim, shape.dim, 3, padding=1, stride=2, bias=False)
        yield from (ResidualBlock(shape.dim) for _ in range(count))
    yield nn.Conv2d(shape.dim, shape.latent_channels, 3, padding=1)


def _decoder(shape: AutoencoderShape) -> Iterator[nn.Module]:
    yield nn.Conv2d(shape.latent_channels, shape.dim, 3, padding=1)
    yield nn.ReLU()
    for number, count in enumerate(reversed(shape.blocks), 1):
        yield from (ResidualBlock(shape.dim) for _ in range(count))
        if number < len(shape.blocks):
            yield nn.Upsample(scale_factor=2)
            yield nn.Conv2d(shape.dim, shape.dim, 3, padding=1, bias=False)
        else:
            yield nn.Conv2d(shape.dim, shape.image_channels, 3, padding=1)


@torch.no_grad()
def init_autoencoder(model: Autoencoder, *, generator: torch.Generator) -> None:
    """Fills every parameter; the same generator gives the same weights on any device.

    Convolutions keep the variance of what enters a ReLU (He et al. 2015, arXiv 1502.01852); what blocks add is small
    at first, so that variances do not double from block to block. An untrained decoder gives nearly grey images.
    """
    damp = 1 / math.sqrt(max(1, len(model.blocks)))
    last = {id(block.conv[-1]) for block in model.blocks if isinstance(block, ResidualBlock)}
    output = model.decoder.layers[-1]
    for module in model.modules():
        if not isinstance(module, nn.Conv2d):
            continue
        gain = damp if id(module) in last else 0.1 if module is output else 1.0
        std = gain * math.sqrt(2 / module.weight[0].numel())
        module.weight.copy_(torch.randn(module.weight.shape, generator=generator) * std)
        if module.bias is not None:
            module.bias.fill_(0.5 if module is output else 0.0)
