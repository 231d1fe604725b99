"""A vision transformer over images of any size: patches become one flat stream, in which each image sees itself."""

from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor, nn

from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.config.vision_model import VisionModel
from trimtab.model.block import EncoderBlock
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.recompute import Recompute, layer_output
from trimtab.model.sequence_layout import sequence_layout
from trimtab.model.stack import Stack
from trimtab.model.vision.places import build_places
from trimtab.model.vision.stem import build_stem, normalized_pixels
from trimtab.types import Stream


@runtime_checkable
class Images(Protocol):
    """A strip of images, and where in it the patches of each are."""

    @property
    def pixels(self) -> UInt8[Tensor, "channels height width"]:
        """The images side by side, with at least one column of patches between them."""
        ...

    @property
    def real(self) -> Bool[Tensor, "rows columns"]:
        """Which patches belong to an image."""
        ...

    @property
    def stream(self) -> Stream:
        """A segment for each image: its patches as numbers of patches of the strip."""
        ...

    @property
    def rows(self) -> Int[Tensor, "patches"]:
        """The row of each patch in its image."""
        ...

    @property
    def columns(self) -> Int[Tensor, "patches"]:
        """Its column."""
        ...


class VisionEncoder(nn.Module):
    """Patches with their places and registers, through transformer blocks. Source: ViT, arXiv 2010.11929; images of
    any size in one sequence as in NaViT, arXiv 2307.06304, section 2.1."""

    def __init__(
        self, config: VisionModel | ImageClassifierModel, *, channels: int, rows: int, columns: int
    ) -> None:
        """No image may have more `rows` or `columns` of patches."""
        super().__init__()
        self.config = config
        self.recompute: Recompute = "none"
        self.stem = build_stem(config.stem, channels=channels, patch=config.patch_sides, dim=config.dim)
        self.places = build_places(config.positions, rows=rows, columns=columns, dim=config.dim)
        self.registers = nn.Embedding(config.added_tokens, config.dim) if config.added_tokens else None
        self.stack = Stack([EncoderBlock(config) for _ in range(config.layers)], config)

    def forward(self, images: Images, *, padded: bool) -> Float[Tensor, "patches dim"]:
        """The output for each patch of the stream; `padded` chooses attention over padded rows."""
        return self.outputs(images, padded=padded)[0]

    def outputs(
        self, images: Images, *, padded: bool
    ) -> tuple[Float[Tensor, "patches dim"], Float[Tensor, "registers dim"] | None]:
        """The same, and the output for each register, those of one image after those of another."""
        pixels = normalized_pixels(images.pixels, images.real, self.config.patch_sides)
        pixels = pixels.to(self.stem.project.weight.dtype)
        cells = self.stem(pixels, images.real).flatten(1).T
        # By selection and not by a product with the mask: zero times what is not finite is not zero.
        x = cells.index_select(0, images.stream.ids) + self.places(images.rows, images.columns)
        x = F.dropout(x, self.config.dropout, self.training)
        if self.registers is None:
            return self.stack.norm(self._blocks(x, images.stream, padded=padded)), None
        stream, own, added = with_registers(images.stream, self.registers.num_embeddings)
        wide = x.new_empty(len(stream.ids), x.shape[1]).index_copy(0, own, x)
        segments = len(images.stream.cu_seqlens) - 1
        wide = wide.index_copy(0, added, self.registers.weight.to(x.dtype).repeat(segments, 1))
        found = self._blocks(wide, stream, padded=padded)
        return self.stack.norm(found.index_select(0, own)), self.stack.norm(found.index_select(0, added))

    def _blocks(self, x: Tensor, stream: Stream, *, padded: bool) -> Tensor:
        layout, nothing = sequence_layout(stream, padded=padded), PositionInputs(None, None)
        last, count = self.config.drop_path, len(self.stack.blocks)
        for number, block in enumerate(self.stack.blocks):
            after = layer_output(block, x, layout, nothing, recompute=self.recompute)
            dropped = last * (number + 1) / count
            x = keep_some(x, after, stream, dropped=dropped) if dropped and self.training else after
        return x


def keep_some(x: Tensor, after: Tensor, stream: Stream, *, dropped: float) -> Tensor:
    """What a block added to each image, left out for a share of the images and scaled up for the others (stochastic
    depth, arXiv 1603.09382, with the scaling in training as timm's `drop_path`)."""
    kept = torch.rand(len(stream.cu_seqlens), device=x.device) >= dropped
    factor = (kept / (1 - dropped)).to(x.dtype).index_select(0, stream.segments)
    return x + factor[:, None] * (after - x)


def with_registers(stream: Stream, count: int) -> tuple[Stream, Tensor, Tensor]:
    """The stream with `count` slots before each segment, where the old slots are in it, and where the new ones are."""
    boundaries, segments = stream.cu_seqlens, len(stream.cu_seqlens) - 1
    numbers = torch.arange(segments, device=boundaries.device)
    own = torch.arange(len(stream.ids), device=boundaries.device) + count * (stream.segments + 1)
    slots = torch.arange(count, device=boundaries.device)
    added = (boundaries[:-1].long() + count * numbers)[:, None] + slots
    size = len(stream.ids) + count * segments
    positions = boundaries.new_empty(size, dtype=torch.long)
    positions = positions.index_copy(0, own, stream.positions + count)
    positions = positions.index_copy(0, added.flatten(), slots.repeat(segments))
    owners = boundaries.new_empty(size, dtype=torch.long).index_copy(0, own, stream.segments)
    owners = owners.index_copy(0, added.flatten(), numbers.repeat_interleave(count))
    steps = torch.arange(segments + 1, device=boundaries.device, dtype=boundaries.dtype)
    wider = Stream(positions, positions, owners, boundaries + count * steps, stream.max_seqlen + count)
    return wider, own, added.flatten()
