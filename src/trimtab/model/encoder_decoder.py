"""The translation model: a transformer encoder-decoder over flat packs."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.model import ModelConfig
from trimtab.model.block import DecoderBlock, EncoderBlock, Source
from trimtab.model.encoder_mix import EncoderMix, side_by_side
from trimtab.model.init import init_weights
from trimtab.model.norm import zero_gains
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.positions.combined import enable_fade
from trimtab.model.positions.kind import Positions
from trimtab.model.router import count_real
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.model.source_factors import FactorSize, SourceFactors
from trimtab.model.source_registers import with_register_slots, with_registers
from trimtab.model.stack import Stack
from trimtab.model.transformer import Transformer
from trimtab.types import PackedBatch, Stream

if TYPE_CHECKING:
    from trimtab.model.session import Session


class EncoderDecoder(Transformer):
    """A transformer encoder-decoder. Source: Vaswani et al. 2017, arXiv 1706.03762."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        num_ids: int,
        max_positions: int,
        seed: int,
        num_source_ids: int | None = None,
        factors: Sequence[FactorSize] = (),
    ) -> None:
        """`num_ids` is the size of the vocabulary; its matrix has more rows, up to a multiple of 64, for speed.
        `num_source_ids` is that of the source's vocabulary, where it has its own and a matrix of its own. Source ids
        carry `factors`. No sentence may be longer than `max_positions` tokens."""
        super().__init__(config, num_ids=num_ids, max_positions=max_positions)
        self.config = config
        rows, source_rows = (-(-ids // 64) * 64 for ids in (num_ids, num_source_ids or num_ids))
        tied = config.tie_embeddings
        assert tied != "all" or rows == source_rows, f"one matrix for {num_source_ids} and {num_ids} ids"
        self.embedding = nn.Embedding(rows, config.dim)
        width = config.dim - sum(each.dim or 0 for each in factors)
        self.source_embedding = nn.Embedding(source_rows, width) if tied != "all" else None
        self.output = nn.Embedding(rows, config.dim) if tied == "none" else None
        longest = max_positions + config.registers
        sizes = Sizes(
            longest, config.dim, config.encoder.heads, 1.0, math.sqrt(config.dim), bidirectional=True
        )
        self.source_positions = build_positions(config.source_position_settings, sizes)
        sizes = sizes._replace(num_positions=max_positions, heads=config.decoder.heads, bidirectional=False)
        self.target_positions = build_positions(config.target_position_settings, sizes)
        self.encoder = Stack([EncoderBlock(config.encoder) for _ in range(config.encoder_layers)], config)
        self.decoder = Stack([DecoderBlock(config.decoder) for _ in range(config.decoder_layers)], config)
        for block in self.decoder.blocks if config.encoder_mix != "last" else ():
            block.cross.mix = EncoderMix(layers=config.encoder_layers, kind=config.encoder_mix)
        # The last, so that all other weights begin as they do without factors.
        self.source_factors = (
            SourceFactors(factors, num_ids=num_source_ids or num_ids, dim=config.dim) if factors else None
        )
        self.source_registers = nn.Embedding(config.registers, config.dim) if config.registers else None
        init_weights(self, config, seed=seed)
        self.begins_zero = zero_gains(self)
        if config.absolute_fade is not None:
            enable_fade(self)

    def forward(self, pack: PackedBatch) -> Float[Tensor, "target_tokens dim"]:
        """The hidden vector from which each label is predicted, `output_matrix @ hidden` being its logits."""
        source, target = (sequence_layout(each, padded=self.padded) for each in (pack.source, pack.target))
        if self.config.experts is not None:
            count_real(self, pack)
        return self.decode(pack.target, self.encode(pack.source, source), target, source)

    def encode(self, stream: Stream, layout: SequenceLayout) -> Float[Tensor, "source_tokens width"]:
        """The encoder's output for each source token; with `encoder_mix` those of all layers side by side."""
        x, places = self.embed_source(stream), None
        if self.source_registers is not None:
            places = with_register_slots(stream, self.config.registers)
            x = with_registers(x, self.source_registers.weight * math.sqrt(self.config.dim), places)
            stream, layout = places.stream, sequence_layout(places.stream, padded=layout.places is not None)
        positions = self.source_positions.of_stream(stream)
        outputs = [x]
        for block in self.encoder.blocks:
            x = self.after(block, x, layout, positions)
            outputs.append(x)
        outputs = outputs[-1:] if self.config.encoder_mix == "last" else outputs
        if places is not None:
            outputs = [each.index_select(0, places.tokens) for each in outputs]
        return side_by_side(outputs, self.encoder.norm)

    def decode(
        self,
        stream: Stream,
        memory: Float[Tensor, "source_tokens width"],
        target: SequenceLayout,
        source: SequenceLayout,
    ) -> Float[Tensor, "target_tokens dim"]:
        """The decoder's output for each target token, all at once (teacher forcing)."""
        x, positions = self.embed_target(stream), self.target_positions.of_stream(stream)
        both = Source(memory, target, source)
        for block in self.decoder.blocks:
            x = self.after(block, x, target, positions, source=both)
        return self.decoder.norm(x)

    def embed_source(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the source tokens, brought to unit variance, with what their positions add."""
        table = self.embedding if self.source_embedding is None else self.source_embedding
        vectors = table(stream.ids) if self.source_factors is None else self.source_factors(stream.ids, table)
        return self._embed(vectors, stream, self.source_positions)

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the target tokens, brought to unit variance, with what their positions add."""
        return self._embed(self.embedding(stream.ids), stream, self.target_positions)

    def _embed(self, vectors: Tensor, stream: Stream, positions: Positions) -> Tensor:
        x = positions.embed(vectors * math.sqrt(self.config.dim), self.places_of(stream))
        return F.dropout(x, self.config.dropout, self.training)

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "Session":
        """Encodes the source; a hypothesis may grow to `max_length` tokens, at most the model's longest sentence."""
        from trimtab.model.session import Session  # late: it knows this class

        assert max_length <= self.max_positions, (max_length, self.max_positions)
        assert math.prod(source.ids.shape) > 0, "a source has at least its end symbol"
        return Session(self, source, rows=rows, width=width)

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        tied, target = self.config.tie_embeddings, self.embedding.weight.data_ptr()
        source = self.embedding if self.source_embedding is None else self.source_embedding
        if (self.output_matrix.data_ptr() == target) != (tied in ("all", "decoder")):
            return "the output matrix and the target's embeddings"
        if (source.weight.data_ptr() == target) != (tied == "all"):
            return "the embeddings of source and target"
        return ""

    def tokens_read(self, batch: PackedBatch) -> dict[str, int]:
        """How many real tokens of a pack each stack of layers reads, by the stack's name."""
        return {"encoder": batch.num_tokens - batch.num_targets, "decoder": batch.num_targets}

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers of the encoder, then those of the decoder."""
        return (*self.encoder.blocks, *self.decoder.blocks)
