"""The translation model: a transformer encoder-decoder over flat packs."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.model import ModelConfig
from trimtab.flow import Pack, Stream
from trimtab.model.attention import Kernel
from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.init import init_weights
from trimtab.model.layout import Layout, layout_of
from trimtab.model.norm import build_norm
from trimtab.model.position import Rotation, rotation_at, rotation_table, sinusoidal_table


class Stack(nn.Module):
    """Blocks of one side, and the norm that closes a stack whose norms stand before its sub-layers."""

    def __init__(self, blocks: list[nn.Module], config: ModelConfig) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = build_norm(config.norm, config.dim) if config.norm_position == "before" else nn.Identity()


class EncoderDecoder(nn.Module):
    """A transformer encoder-decoder. Source: Vaswani et al. 2017, arXiv 1706.03762."""

    def __init__(self, config: ModelConfig, *, num_ids: int, max_positions: int, seed: int) -> None:
        """`num_ids` is the size of the vocabulary; its matrix has more rows, up to a multiple of 64, for speed.
        No sentence may be longer than `max_positions` tokens."""
        super().__init__()
        self.config = config
        self.num_ids = num_ids
        self.max_positions = max_positions
        self.kernel: Kernel = "padded"
        rows = -(-num_ids // 64) * 64
        self.embedding = nn.Embedding(rows, config.dim)
        self.source_embedding = nn.Embedding(rows, config.dim) if config.tie_embeddings == "decoder" else None
        self.source_positions: nn.Embedding | None = None
        self.target_positions: nn.Embedding | None = None
        if config.positions == "learned":
            self.source_positions = nn.Embedding(max_positions, config.dim)
            self.target_positions = nn.Embedding(max_positions, config.dim)
        if config.positions == "sinusoidal":
            self.register_buffer("sines", sinusoidal_table(max_positions, config.dim), persistent=False)
        if config.positions == "rotary":
            table = rotation_table(max_positions, config.dim // config.heads)
            self.register_buffer("turns", table, persistent=False)
        self.encoder = Stack([EncoderBlock(config) for _ in range(config.encoder_layers)], config)
        self.decoder = Stack([DecoderBlock(config) for _ in range(config.decoder_layers)], config)
        init_weights(self, config, seed=seed)

    def forward(self, pack: Pack) -> Float[Tensor, "target_tokens dim"]:
        """The hidden vector from which each label is predicted, `output_matrix @ hidden` being its logits."""
        padded = self.kernel == "padded"
        source, target = layout_of(pack.source, padded=padded), layout_of(pack.target, padded=padded)
        return self.decode(pack.target, self.encode(pack.source, source), target, source)

    def encode(self, stream: Stream, layout: Layout) -> Float[Tensor, "source_tokens dim"]:
        """The encoder's output for each source token."""
        x, rotation = self.embed_source(stream), self.rotation(stream)
        for block in self.encoder.blocks:
            x = block(x, layout, rotation)
        return self.encoder.norm(x)

    def decode(
        self, stream: Stream, memory: Float[Tensor, "source_tokens dim"], target: Layout, source: Layout
    ) -> Float[Tensor, "target_tokens dim"]:
        """The decoder's output for each target token, all at once (teacher forcing)."""
        x, rotation = self.embed_target(stream), self.rotation(stream)
        for block in self.decoder.blocks:
            x = block(x, memory, target, source, rotation)
        return self.decoder.norm(x)

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """The tied output matrix; rows from `num_ids` on stand for nothing and belong to no softmax."""
        return self.embedding.weight

    def embed_source(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the source tokens, with their positions unless they are rotary."""
        table = self.embedding if self.source_embedding is None else self.source_embedding
        return self.add_positions(table(stream.ids), stream, self.source_positions)

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the target tokens, with their positions unless they are rotary."""
        return self.add_positions(self.embedding(stream.ids), stream, self.target_positions)

    def add_positions(
        self, x: Tensor, stream: Stream, learned: nn.Embedding | None
    ) -> Float[Tensor, "tokens dim"]:
        """Embeddings brought to unit variance, plus positions, with dropout."""
        x = x * math.sqrt(self.config.dim)
        match self.config.positions:
            case "sinusoidal":
                x = x + self.sines[stream.positions]
            case "learned":
                assert learned is not None
                x = x + learned(stream.positions) * math.sqrt(self.config.dim)
            case "rotary":
                pass
        return F.dropout(x, self.config.dropout, self.training)

    def rotation(self, stream: Stream) -> Rotation | None:
        """Angles of a stream's tokens, once for all blocks."""
        return rotation_at(self.turns, stream.positions) if self.config.positions == "rotary" else None

    def compile_blocks(self) -> None:
        """Compiles one encoder and one decoder block; all layers of a side share the code (fixed shapes only)."""
        for block in (*self.encoder.blocks, *self.decoder.blocks):
            block.compile(dynamic=False)

    @torch.no_grad()
    def num_parameters(self) -> int:
        """Trained numbers, tied ones once."""
        return sum(parameter.numel() for parameter in self.parameters())
