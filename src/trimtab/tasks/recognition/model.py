"""The model: a vision transformer, and heads that write its text column by column or character by character."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.vision_model import VisionModel
from trimtab.model.block import DecoderBlock, Source
from trimtab.model.init import xavier
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.recompute import Recompute
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.model.session import Session
from trimtab.model.stack import Stack
from trimtab.model.transformer import Transformer
from trimtab.model.vision.encoder import VisionEncoder
from trimtab.model.vision.fill import fill_layer
from trimtab.tasks.recognition.batches import ImageBatch, Patches
from trimtab.types import Stream

FIRST_STD = 0.1
"""Of the logits of an untrained CTC head whose vectors have unit variance: so small that it gives every id the same
probability."""
FIRST_LOGIT = 1.0
"""With which an untrained decoder predicts its own input. A translator begins with 4 (`model.init`), which is little
beside thousands of pieces and much beside a few dozen characters."""


@dataclass(frozen=True, slots=True)
class ImageStream(Stream):
    """The source of a decoder session: the patches of images as segments, with the strip that they are of."""

    patches: Patches | None = None

    @classmethod
    def of(cls, patches: Patches) -> "ImageStream":
        """The stream of a strip."""
        own = patches.stream
        return cls(**{each.name: getattr(own, each.name) for each in fields(Stream)}, patches=patches)


class ColumnHead(nn.Module):
    """Scores every id for each column of an image; id 0 is the blank of CTC."""

    def __init__(self, dim: int, num_ids: int) -> None:
        super().__init__()
        self.output = nn.Linear(dim, num_ids)

    def forward(self, x: Float[Tensor, "columns dim"]) -> Float[Tensor, "columns ids"]:
        """The logits."""
        return self.output(x)


class LineReader(Transformer):
    """A vision transformer with a CTC head, a decoder of characters, or both.

    Names of weights: `vision.*`, `ctc.output.*`, and of the decoder `embedding.weight` and `decoder.*`, as an
    encoder-decoder has them.
    """

    def __init__(
        self,
        config: VisionModel,
        *,
        num_ids: int,
        channels: int,
        grid: tuple[int, int],
        max_positions: int,
        seed: int,
    ) -> None:
        """`grid` are the rows and columns of patches of the largest image, `max_positions` the characters of the
        longest text with its end."""
        super().__init__(config, num_ids=num_ids, max_positions=max_positions)
        self.config, self.grid = config, grid
        self.vision = VisionEncoder(config, channels=channels, rows=grid[0], columns=grid[1])
        self.ctc = ColumnHead(config.dim, num_ids) if config.has_ctc else None
        self.output = None
        if config.has_decoder:
            self.embedding = nn.Embedding(-(-num_ids // 64) * 64, config.dim)
            sizes = Sizes(max_positions, config.dim, config.heads, 1.0, math.sqrt(config.dim))
            self.target_positions = build_positions(config.target_position_settings, sizes)
            self.decoder = Stack([DecoderBlock(config) for _ in range(config.decoder_layers)], config)
        init_reader(self, config, seed=seed)

    def forward(self, batch: ImageBatch) -> Float[Tensor, "targets dim"]:
        """The vectors from which characters are predicted: of the decoder where there is one, otherwise of columns."""
        memory = self.read(batch.patches)
        return self.write(batch, memory) if self.config.has_decoder else self.columns(batch, memory)

    def read(self, patches: Patches) -> Float[Tensor, "patches dim"]:
        """The encoder's output for each patch."""
        return self.vision(patches, padded=self.padded)

    def columns(
        self, batch: ImageBatch, memory: Float[Tensor, "patches dim"]
    ) -> Float[Tensor, "columns dim"]:
        """The mean vector of each column of each image, one image after another."""
        used = memory[: batch.num_patches]
        if len(set(batch.heights)) == 1:
            height = batch.heights[0]
            return used if height == 1 else used.unflatten(0, (-1, height)).mean(1)
        sizes = [tall * wide for tall, wide in zip(batch.heights, batch.widths, strict=True)]
        parts = zip(used.split(sizes), batch.heights, strict=True)
        return torch.cat([part.unflatten(0, (-1, tall)).mean(1) for part, tall in parts])

    def column_logits(
        self, batch: ImageBatch, memory: Float[Tensor, "patches dim"]
    ) -> Float[Tensor, "columns ids"]:
        """The scores of every id for each column, one image after another."""
        assert self.ctc is not None, "a model without a CTC head"
        return self.ctc(self.columns(batch, memory))

    def write(self, batch: ImageBatch, memory: Float[Tensor, "patches dim"]) -> Float[Tensor, "targets dim"]:
        """The decoder's output for each character, all at once (teacher forcing)."""
        source, target = (
            sequence_layout(each, padded=self.padded) for each in (batch.patches.stream, batch.text)
        )
        x, positions = self.embed_target(batch.text), self.target_positions.of_stream(batch.text)
        both = Source(memory, target, source)
        for block in self.decoder.blocks:
            x = self.after(block, x, target, positions, source=both)
        return self.decoder.norm(x)

    def encode(self, stream: Stream, layout: SequenceLayout) -> Float[Tensor, "patches dim"]:
        """The encoder's output, as a decoder session asks for it."""
        assert isinstance(stream, ImageStream), "the source of a session over images"
        assert stream.patches is not None
        return self.read(stream.patches)

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of characters, brought to unit variance, with what their positions add."""
        vectors = self.embedding(stream.ids) * math.sqrt(self.config.dim)
        x = self.target_positions.embed(vectors, stream.positions)
        return F.dropout(x, self.config.dropout, self.training)

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> Session:
        """Reads the images; a text may grow to `max_length` characters, its end included."""
        assert max_length <= self.max_positions, (max_length, self.max_positions)
        return Session(self, source, rows=rows, width=width)

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """What scores characters: the decoder's embeddings, or the matrix of the CTC head."""
        if self.config.has_decoder:
            return self.embedding.weight
        assert self.ctc is not None
        return self.ctc.output.weight

    def recompute_in_backward(self, recompute: Recompute) -> None:
        """Which activations the backward pass computes again, in both stacks of layers."""
        super().recompute_in_backward(recompute)
        self.vision.recompute = recompute

    def wrongly_tied(self) -> str:
        """Nothing: the decoder has one matrix by construction."""
        return ""

    def tokens_read(self, batch: ImageBatch) -> dict[str, int]:
        """How many patches and characters each stack of layers reads, by its name."""
        read = {"vision": batch.num_tokens}
        return {**read, "decoder": batch.num_targets} if self.config.has_decoder else read

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """The layers of the encoder, then those of the decoder."""
        return (*self.vision.stack.blocks, *(self.decoder.blocks if self.config.has_decoder else ()))


@torch.no_grad()
def init_reader(model: LineReader, config: VisionModel, *, seed: int) -> None:
    """Fills every parameter as `model.init` does for an encoder-decoder; the same seed gives the same weights on any
    device."""
    generator = torch.Generator().manual_seed(seed)
    writers = {"vision": 2 * config.layers, "decoder": 3 * config.decoder_layers}
    for name, module in model.named_modules():
        damp = 1 / math.sqrt(writers.get(name.partition(".")[0], 1))
        fill_layer(module, config, damp=damp, generator=generator)
    xavier(model.vision.stem.project, width=config.dim, gain=1.0, generator=generator)
    if model.vision.registers is not None:
        table = model.vision.registers.weight
        table.copy_(torch.randn(table.shape, generator=generator))
    if model.ctc is not None:
        weight = model.ctc.output.weight
        weight.copy_(FIRST_STD * torch.randn(weight.shape, generator=generator) / math.sqrt(config.dim))
        model.ctc.output.bias.zero_()
    if config.has_decoder:
        weight = model.embedding.weight
        weight.copy_(torch.randn(weight.shape, generator=generator) / math.sqrt(config.dim))
        model.decoder.norm.weight.fill_(FIRST_LOGIT / math.sqrt(config.dim))
