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
from trimtab.model.inductor_options import inductor_options
from trimtab.model.init import init_weights
from trimtab.model.layout import Layout, layout_of
from trimtab.model.position import rotation_at, rotation_table, sinusoidal_table
from trimtab.model.stack import Stack


class EncoderDecoder(nn.Module):
    """A transformer encoder-decoder. Source: Vaswani et al. 2017, arXiv 1706.03762."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        num_ids: int,
        max_positions: int,
        seed: int,
        num_source_ids: int | None = None,
    ) -> None:
        """`num_ids` is the size of the vocabulary; its matrix has more rows, up to a multiple of 64, for speed.
        `num_source_ids` is that of the source's vocabulary, where it has its own and a matrix of its own. No sentence
        may be longer than `max_positions` tokens."""
        super().__init__()
        self.config = config
        self.num_ids = num_ids
        self.max_positions = max_positions
        self.kernel: Kernel = "padded"
        rows, source_rows = (-(-ids // 64) * 64 for ids in (num_ids, num_source_ids or num_ids))
        tied = config.tie_embeddings
        assert tied != "all" or rows == source_rows, f"one matrix for {num_source_ids} and {num_ids} ids"
        self.embedding = nn.Embedding(rows, config.dim)
        self.source_embedding = nn.Embedding(source_rows, config.dim) if tied != "all" else None
        self.output = nn.Embedding(rows, config.dim) if tied == "none" else None
        self.source_positions: nn.Embedding | None = None
        self.target_positions: nn.Embedding | None = None
        kinds = config.positions, config.target_positions
        if kinds[0] == "learned":
            self.source_positions = nn.Embedding(max_positions, config.dim)
        if kinds[1] == "learned":
            self.target_positions = nn.Embedding(max_positions, config.dim)
        if "sinusoidal" in kinds:
            self.register_buffer("sines", sinusoidal_table(max_positions, config.dim), persistent=False)
        for side, own, kind in zip(
            ("source", "target"), (config.encoder, config.decoder), kinds, strict=True
        ):
            table = rotation_table(max_positions, config.dim // own.heads) if kind == "rotary" else None
            self.register_buffer(f"{side}_turns", table, persistent=False)
        self.encoder = Stack([EncoderBlock(config.encoder) for _ in range(config.encoder_layers)], config)
        self.decoder = Stack([DecoderBlock(config.decoder) for _ in range(config.decoder_layers)], config)
        init_weights(self, config, seed=seed)

    def forward(self, pack: Pack) -> Float[Tensor, "target_tokens dim"]:
        """The hidden vector from which each label is predicted, `output_matrix @ hidden` being its logits."""
        padded = self.kernel == "padded"
        source, target = layout_of(pack.source, padded=padded), layout_of(pack.target, padded=padded)
        return self.decode(pack.target, self.encode(pack.source, source), target, source)

    def encode(self, stream: Stream, layout: Layout) -> Float[Tensor, "source_tokens dim"]:
        """The encoder's output for each source token."""
        x, rotation = self.embed_source(stream), rotation_at(self.source_turns, stream.positions)
        for block in self.encoder.blocks:
            x = block(x, layout, rotation)
        return self.encoder.norm(x)

    def decode(
        self, stream: Stream, memory: Float[Tensor, "source_tokens dim"], target: Layout, source: Layout
    ) -> Float[Tensor, "target_tokens dim"]:
        """The decoder's output for each target token, all at once (teacher forcing)."""
        x, rotation = self.embed_target(stream), rotation_at(self.target_turns, stream.positions)
        for block in self.decoder.blocks:
            x = block(x, memory, target, source, rotation)
        return self.decoder.norm(x)

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """The output matrix, tied or not; rows from `num_ids` on stand for nothing and belong to no softmax."""
        return (self.embedding if self.output is None else self.output).weight

    def embed_source(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the source tokens, with their positions unless they are rotary."""
        table = self.embedding if self.source_embedding is None else self.source_embedding
        return self.add_positions(table(stream.ids), stream, self.config.positions, self.source_positions)

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the target tokens, with their positions unless they are rotary."""
        kind = self.config.target_positions
        return self.add_positions(self.embedding(stream.ids), stream, kind, self.target_positions)

    def add_positions(
        self, x: Tensor, stream: Stream, kind: str, learned: nn.Embedding | None
    ) -> Float[Tensor, "tokens dim"]:
        """Embeddings brought to unit variance, plus positions, with dropout."""
        x = x * math.sqrt(self.config.dim)
        match kind:
            case "sinusoidal":
                x = x + self.sines[stream.positions]
            case "learned":
                assert learned is not None
                x = x + learned(stream.positions) * math.sqrt(self.config.dim)
            case "rotary" | "none":
                pass
        return F.dropout(x, self.config.dropout, self.training)

    def compile_blocks(self) -> None:
        """Compiles one encoder and one decoder block; all layers of a side share the code (fixed shapes only)."""
        for block in (*self.encoder.blocks, *self.decoder.blocks):
            block.compile(dynamic=False, options=inductor_options(self.config.norm))

    @torch.no_grad()
    def num_parameters(self) -> int:
        """Trained numbers, tied ones once."""
        return sum(parameter.numel() for parameter in self.parameters())
