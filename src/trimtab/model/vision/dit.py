"""A diffusion transformer: patches of an image with noise, through blocks whose norms follow from time and class.

Source: Peebles and Xie 2022, arXiv 2212.09748, section 3.2, with adaLN-Zero.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.diffusion_model import DiffusionModel
from trimtab.model.block import Residual, SelfAttention
from trimtab.model.feed_forward import FeedForward
from trimtab.model.init import xavier
from trimtab.model.norm import RMS_EPSILON
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.recompute import Recompute, layer_output, recomputed
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.model.vision.fill import draw, fill_layer
from trimtab.model.vision.places import build_places
from trimtab.types import Stream

FREQUENCIES = 256
"""Sines and cosines of a time."""
TIME_SCALE = 1000.0
"""Times from 0 to 1 have the frequencies of the thousand steps that were usual."""
FIRST_STD = 0.1
"""Of an untrained model's output where vectors have unit variance: so small that its loss is that of predicting 0.
Zero, as in the paper, would hide what lies before from the first gradient."""


class PlainNorm(nn.Module):
    """LayerNorm or RMSNorm without gain or bias, which the modulation has."""

    def __init__(self, kind: str, dim: int) -> None:
        super().__init__()
        self.kind, self.dim = kind, dim

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Each vector by itself."""
        if self.kind == "rms":
            return F.rms_norm(x, (self.dim,), eps=RMS_EPSILON)
        return F.layer_norm(x, (self.dim,), eps=1e-6)


class DiTBlock(nn.Module):
    """Self-attention within an image, then a feed-forward sub-layer; what each sees is shifted and scaled, and what it
    adds is gated, by linear maps of the condition that begin at zero: an untrained block changes nothing."""

    recomputes: bool = False
    """As in `EncoderBlock`."""

    def __init__(self, config: DiffusionModel) -> None:
        super().__init__()
        self.residual = Residual(config)
        self.norm_attention = PlainNorm(config.norm, config.dim)
        self.attention = SelfAttention(config)
        self.norm_feed_forward = PlainNorm(config.norm, config.dim)
        self.feed_forward = FeedForward(config)
        self.modulation = nn.Linear(config.dim, 6 * config.dim)

    def forward(
        self,
        x: Float[Tensor, "images patches dim"],
        condition: Float[Tensor, "images dim"],
        layout: SequenceLayout,
        nothing: PositionInputs,
    ) -> Float[Tensor, "images patches dim"]:
        """The residual path after this layer."""
        shift, scale, gate, late_shift, late_scale, late_gate = self.modulation(condition)[:, None].chunk(
            6, 2
        )

        def attend(x: Tensor) -> Tensor:
            entered = (self.norm_attention(x) * (1 + scale) + shift).flatten(0, 1)
            return gate * self.attention(entered, layout, nothing, causal=False).view(x.shape)

        def feed(x: Tensor) -> Tensor:
            return late_gate * self.feed_forward(self.norm_feed_forward(x) * (1 + late_scale) + late_shift)

        x = self.residual.post(x, attend(x), self.norm_attention)
        update = recomputed(feed, x) if self.recomputes else feed(x)
        return self.residual.post(x, update, self.norm_feed_forward)


class DiT(nn.Module):
    """The network: from images with noise, their times and labels, to what is predicted of each number."""

    def __init__(self, config: DiffusionModel, *, channels: int, side: int, labels: int) -> None:
        """Images are `side` pixels (or cells of a latent) wide and high; there is one label more, for no class."""
        super().__init__()
        self.config, self.recompute = config, "none"
        self.recompute: Recompute
        self.channels, self.rows = channels, side // config.patch
        numbers = channels * config.patch**2
        self.project = nn.Linear(numbers, config.dim)
        self.places = build_places(config.positions, rows=self.rows, columns=self.rows, dim=config.dim)
        self.time_in, self.time_out = nn.Linear(FREQUENCIES, config.dim), nn.Linear(config.dim, config.dim)
        self.classes = nn.Embedding(labels + 1, config.dim)
        self.blocks = nn.ModuleList(DiTBlock(config) for _ in range(config.layers))
        self.norm = PlainNorm(config.norm, config.dim)
        self.modulation = nn.Linear(config.dim, 2 * config.dim)
        self.output = nn.Linear(config.dim, numbers)

    @property
    def num_patches(self) -> int:
        """Of an image."""
        return self.rows**2

    def forward(
        self,
        x: Float[Tensor, "images channels side side"],
        t: Float[Tensor, "images"],
        labels: Int[Tensor, "images"],
        *,
        padded: bool,
    ) -> Float[Tensor, "images channels side side"]:
        """The prediction, float32 or wider; `padded` chooses attention over padded rows."""
        wide, dtype = torch.promote_types(x.dtype, torch.float32), self.project.weight.dtype
        cells, patch = x.to(dtype), self.config.patch
        cells = cells.unflatten(2, (-1, patch)).unflatten(4, (-1, patch)).permute(0, 2, 4, 1, 3, 5)
        places = self.places(*grid_places(self.rows, device=x.device)).to(dtype)
        h = self.project(cells.flatten(3).flatten(1, 2)) + places
        condition = self.condition(t, labels)
        layout = sequence_layout(equal_segments(len(x), self.num_patches, device=x.device), padded=padded)
        nothing = PositionInputs(None, None)
        for block in self.blocks:
            h = layer_output(block, h, condition, layout, nothing, recompute=self.recompute)
        shift, scale = self.modulation(condition)[:, None].chunk(2, 2)
        out = self.output(self.norm(h) * (1 + scale) + shift).to(wide)
        out = out.view(len(x), self.rows, self.rows, self.channels, patch, patch).permute(0, 3, 1, 4, 2, 5)
        return out.reshape(x.shape)

    def condition(
        self, t: Float[Tensor, "images"], labels: Int[Tensor, "images"]
    ) -> Float[Tensor, "images dim"]:
        """What the norms of all blocks follow from."""
        hidden = self.time_in(time_waves(t).to(self.time_in.weight.dtype))
        return F.silu(self.time_out(F.silu(hidden)) + self.classes(labels))


def time_waves(t: Float[Tensor, "images"]) -> Float[Tensor, "images waves"]:
    """Cosines and sines of a time, with frequencies as in arXiv 1706.03762, section 3.5; not in half precision, which
    would round the fast ones away."""
    half = FREQUENCIES // 2
    turns = torch.exp(torch.arange(half, device=t.device) * (-math.log(10000.0) / half))
    angles = TIME_SCALE * t[:, None].float() * turns
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def grid_places(side: int, *, device: torch.device) -> tuple[Tensor, Tensor]:
    """Row and column of each patch of a square, in reading order."""
    places = torch.arange(side * side, device=device)
    return places // side, places % side


def equal_segments(count: int, length: int, *, device: torch.device) -> Stream:
    """The stream of so many segments of one length."""
    slots = torch.arange(count * length, device=device)
    bounds = torch.arange(count + 1, device=device, dtype=torch.int32) * length
    return Stream(slots, slots % length, slots // length, bounds, length)


@torch.no_grad()
def init_dit(model: DiT, config: DiffusionModel, *, generator: torch.Generator) -> None:
    """Fills every parameter; the same generator gives the same weights on any device. Modulations begin at zero."""

    damp = 1 / math.sqrt(2 * config.layers)
    for module in model.modules():
        fill_layer(module, config, damp=damp, generator=generator)
    xavier(model.project, width=config.dim, gain=1.0, generator=generator)
    for linear in (model.time_in, model.time_out):
        xavier(linear, width=config.dim, gain=1.0, generator=generator)
    # Of the size of the vectors of times: of 0.02, as in the paper, where both are small, hundreds of updates pass
    # before the class shows in what is sampled.
    draw(model.classes.weight, 1.0, generator=generator)
    for each in (model, *model.blocks):
        assert isinstance(each, DiT | DiTBlock)
        each.modulation.weight.zero_()
        each.modulation.bias.zero_()
    draw(model.output.weight, FIRST_STD / math.sqrt(config.dim), generator=generator)
    model.output.bias.zero_()
