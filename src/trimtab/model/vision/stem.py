"""From pixels to one vector for each patch: stacked convolutions, or one linear map."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from trimtab.model.norm import build_norm

LEAST_WIDTH = 16
"""Channels of the first convolution, at least."""


class PatchStem(nn.Module):
    """Each patch by one linear map. Source: ViT, arXiv 2010.11929, equation 1."""

    def __init__(self, *, channels: int, patch: tuple[int, int], dim: int) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(channels * patch[0] * patch[1], dim)

    def forward(
        self, pixels: Float[Tensor, "channels height width"], real: Bool[Tensor, "rows columns"]
    ) -> Float[Tensor, "dim rows columns"]:
        """The vector of each patch; what is not real has one that means nothing."""
        height, width = self.patch
        cut = pixels.unflatten(1, (-1, height)).unflatten(3, (-1, width))
        return self.project(cut.permute(1, 3, 0, 2, 4).flatten(2)).permute(2, 0, 1)


class ConvStem(nn.Module):
    """3x3 convolutions of stride 2 until a cell is a patch, each with a norm and an activation, then a linear map.

    Source: Xiao et al. 2021, arXiv 2106.14881, section 3; the norm is over the channels of each cell (as in ConvNeXt,
    arXiv 2201.03545) and not over the batch, so that an image has the same vectors whatever stands beside it. Cells
    that do not belong to an image are zero before each convolution: nothing leaks between images or out of padding.
    """

    def __init__(self, *, channels: int, patch: tuple[int, int], dim: int) -> None:
        super().__init__()
        halvings = [int(math.log2(side)) for side in patch]
        count = max(halvings)
        widths = [channels, *(max(LEAST_WIDTH, dim >> (count - each)) for each in range(1, count + 1))]
        self.patch = patch
        # The side that needs fewer halvings has them first: what follows then has less to do.
        self.strides = [tuple(2 if number < each else 1 for each in halvings) for number in range(count)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=stride, padding=1)
            for before, after, stride in zip(widths, widths[1:], self.strides, strict=False)
        )
        self.norms = nn.ModuleList(build_norm("layer", width) for width in widths[1:])
        self.project = nn.Linear(widths[-1], dim)

    def forward(
        self, pixels: Float[Tensor, "channels height width"], real: Bool[Tensor, "rows columns"]
    ) -> Float[Tensor, "dim rows columns"]:
        """The vector of each patch; what is not real has one that means nothing."""
        x, (height, width) = pixels[None], self.patch
        for convolution, norm, stride in zip(self.convolutions, self.norms, self.strides, strict=True):
            mask = real.repeat_interleave(height, 0).repeat_interleave(width, 1)
            x = convolution(torch.where(mask, x, 0.0))
            height, width = height // stride[0], width // stride[1]
            x = nn.functional.gelu(norm(x.movedim(1, -1))).movedim(-1, 1)
        return self.project(x[0].movedim(0, -1)).movedim(-1, 0)


def build_stem(
    kind: Literal["conv", "patch"], *, channels: int, patch: tuple[int, int], dim: int
) -> PatchStem | ConvStem:
    """The stem of a recipe."""
    match kind:
        case "conv":
            return ConvStem(channels=channels, patch=patch, dim=dim)
        case "patch":
            return PatchStem(channels=channels, patch=patch, dim=dim)


def normalized_pixels(
    pixels: UInt8[Tensor, "channels height width"], real: Bool[Tensor, "rows columns"], patch: tuple[int, int]
) -> Float[Tensor, "channels height width"]:
    """Pixels from -1 to 1, and 0 where there is no image, whatever the padding holds."""
    mask = real.repeat_interleave(patch[0], 0).repeat_interleave(patch[1], 1)
    return torch.where(mask, pixels.float() / 127.5 - 1, 0.0)
