"""The language model: a decoder-only transformer over flat packs."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.decoder_model import DecoderModel
from trimtab.model.attention_choice import rows_are_faster
from trimtab.model.block import DecoderBlock
from trimtab.model.decoder_init import first_std, init_decoder
from trimtab.model.mixture_of_depths import DepthRouter
from trimtab.model.neftune import with_noise
from trimtab.model.norm import zero_gains
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.positions.combined import enable_fade
from trimtab.model.prefix_attention import prefix_layout_of
from trimtab.model.router import count_real
from trimtab.model.sequence_layout import sequence_layout
from trimtab.model.stack import Stack
from trimtab.model.transformer import Transformer
from trimtab.types import PackedBatch, Stream


class DecoderOnly(Transformer):
    """A transformer decoder without a source. Sources: Liu et al. 2018, arXiv 1801.10198; the shape of its defaults,
    Touvron et al. 2023, arXiv 2302.13971.

    It reads the target stream of a pack alone. Names of weights: `embedding.weight` (and `output.weight` where it is
    not tied), `decoder.blocks.N.{norm_attention,norm_feed_forward}.weight`, `decoder.blocks.N.attention.qkv.weight`
    (queries, keys, values one below another), `attention.out.weight`, `attention.{norm_queries,norm_keys}.weight` with
    `qk_norm`, `feed_forward.up.weight` (the gate above the other map where it is gated), `feed_forward.down.weight`,
    `decoder.norm.weight`, `decoder.blocks.N.depths.weight` in layers with a router, and `target_positions.weight` where
    positions are learned.
    """

    source_embedding: None = None
    source_factors: None = None

    def __init__(self, config: DecoderModel, *, num_ids: int, max_positions: int, seed: int) -> None:
        """`num_ids` is the size of the vocabulary; its matrix has more rows, up to a multiple of 64, for speed. No
        segment may be longer than `max_positions` tokens."""
        super().__init__(config, num_ids=num_ids, max_positions=max_positions)
        self.config = config
        self.neftune_alpha: float | None = None
        """Of the noise on embeddings in training; building a run sets it."""
        rows = -(-num_ids // 64) * 64
        self.embedding = nn.Embedding(rows, config.dim)
        self.output = None if config.tie_embeddings else nn.Embedding(rows, config.dim)
        # A sine has a variance of 1/2: with this, positions begin as large as the embeddings they are added to.
        sizes = Sizes(
            max_positions,
            config.dim,
            config.heads,
            first_std(config) * math.sqrt(2),
            1.0,
            head_size=config.size_of_heads,
        )
        self.target_positions = build_positions(config.position_settings, sizes)
        self.decoder = Stack(
            [DecoderBlock(config, own=config) for _ in range(config.layers)],
            config,
            epsilon=config.norm_epsilon,
        )
        depths = config.mixture_of_depths
        for block in (
            self.decoder.blocks[depths.interval - 1 :: depths.interval] if depths is not None else ()
        ):
            block.depths = DepthRouter(depths, dim=config.dim)
        init_decoder(self, config, seed=seed)
        self.begins_zero = zero_gains(self)
        if config.absolute_fade is not None:
            enable_fade(self)

    def forward(self, pack: PackedBatch) -> Float[Tensor, "target_tokens dim"]:
        """The hidden vector from which each label is predicted, `output_matrix @ hidden` being its logits."""
        if self.config.experts is not None or self.config.mixture_of_depths is not None:
            count_real(self, pack)
        return self.decode(pack.target)

    def decode(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """The output for each token of a stream, all at once; its prefixes are read in both directions by a model that
        is made for it."""
        layout, prefix = sequence_layout(stream, padded=self.padded), None
        if self.config.prefix == "bidirectional" and stream.prefix is not None:
            prefix = prefix_layout_of(stream, padded=self.padded)
        elif stream.full and rows_are_faster(layout, heads=self.config.heads, size=self.config.size_of_heads):
            layout = layout._replace(full=stream.full)
        x, positions = self.embed_target(stream), self.target_positions.of_stream(stream)
        for block in self.decoder.blocks:
            x = self.after(block, x, layout, positions, prefix=prefix)
        return self.decoder.norm(x)

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the tokens, with what their positions add, in the residual stream's precision."""
        x = self.embedding(stream.ids)
        if self.training and self.neftune_alpha is not None:
            x = with_noise(x, lengths_of(stream), alpha=self.neftune_alpha)
        x = self.target_positions.embed(x, self.places_of(stream))
        if self.config.residual == "half" and products_are_bfloat16_on_gpu(x.device):
            x = x.to(torch.bfloat16)
        return F.dropout(x, self.config.dropout, self.training)

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        is_tied = self.output_matrix.data_ptr() == self.embedding.weight.data_ptr()
        return "" if is_tied == self.config.tie_embeddings else "the output matrix and the embeddings"

    def tokens_read(self, batch: PackedBatch) -> dict[str, int]:
        """How many real tokens of a pack each stack of layers reads: what is only given is read too."""
        return {"decoder": batch.num_tokens}

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers."""
        return (*self.decoder.blocks,)


def lengths_of(stream: Stream) -> Int[Tensor, "tokens"]:
    """Of the segment of each token."""
    return stream.cu_seqlens.diff()[stream.segments]


def products_are_bfloat16_on_gpu(device: torch.device) -> bool:
    """Whether autocast is on with bfloat16, whose range is that of float32; float16 would overflow in a sum."""
    if device.type != "cuda" or not torch.is_autocast_enabled("cuda"):
        return False
    return torch.get_autocast_dtype("cuda") is torch.bfloat16
