"""The language model: a decoder-only transformer over flat packs."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.decoder_model import DecoderModel
from trimtab.flow import Pack, Stream
from trimtab.model.attention import Kernel
from trimtab.model.causal_block import CausalBlock
from trimtab.model.decoder_init import first_std, init_decoder
from trimtab.model.inductor_options import inductor_options
from trimtab.model.layout import layout_of
from trimtab.model.position import rotation_at, rotation_table, sinusoidal_table
from trimtab.model.prefix_attention import prefix_layout_of
from trimtab.model.stack import Stack


class DecoderOnly(nn.Module):
    """A transformer decoder without a source. Sources: Liu et al. 2018, arXiv 1801.10198; the shape of its defaults,
    Touvron et al. 2023, arXiv 2302.13971.

    It reads the target stream of a pack alone. Names of weights: `embedding.weight` (and `output.weight` where it is
    not tied), `decoder.blocks.N.{norm_attention,norm_feed_forward}.weight`, `decoder.blocks.N.attention.qkv.weight`
    (queries, keys, values one below another), `attention.out.weight`, `attention.{norm_queries,norm_keys}.weight` with
    `qk_norm`, `feed_forward.up.weight` (the gate above the other map where it is gated), `feed_forward.down.weight`,
    `decoder.norm.weight`, and `target_positions.weight` where positions are learned.
    """

    def __init__(self, config: DecoderModel, *, num_ids: int, max_positions: int, seed: int) -> None:
        """`num_ids` is the size of the vocabulary; its matrix has more rows, up to a multiple of 64, for speed. No
        segment may be longer than `max_positions` tokens."""
        super().__init__()
        self.config = config
        self.num_ids = num_ids
        self.max_positions = max_positions
        self.kernel: Kernel = "padded"
        rows = -(-num_ids // 64) * 64
        self.embedding = nn.Embedding(rows, config.dim)
        self.output = None if config.tie_embeddings else nn.Embedding(rows, config.dim)
        self.target_positions: nn.Embedding | None = None
        if config.positions == "learned":
            self.target_positions = nn.Embedding(max_positions, config.dim)
        if config.positions == "sinusoidal":
            # A sine has a variance of 1/2: with this, positions begin as large as the embeddings they are added to.
            scale = first_std(config) * math.sqrt(2)
            self.register_buffer(
                "sines", sinusoidal_table(max_positions, config.dim) * scale, persistent=False
            )
        turns = None
        if config.positions == "rotary":
            turns = rotation_table(max_positions, config.dim // config.heads, theta=config.rope_theta)
        self.register_buffer("target_turns", turns, persistent=False)
        self.decoder = Stack([CausalBlock(config) for _ in range(config.layers)], config)
        init_decoder(self, config, seed=seed)

    def forward(self, pack: Pack) -> Float[Tensor, "target_tokens dim"]:
        """The hidden vector from which each label is predicted, `output_matrix @ hidden` being its logits."""
        return self.decode(pack.target)

    def decode(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """The output for each token of a stream, all at once; its prefixes are read in both directions by a model that
        is made for it."""
        padded = self.kernel == "padded"
        layout, prefix = layout_of(stream, padded=padded), None
        if self.config.prefix == "bidirectional" and stream.prefix is not None:
            prefix = prefix_layout_of(stream, padded=padded)
        x, rotation = self.embed_target(stream), rotation_at(self.target_turns, stream.positions)
        for block in self.decoder.blocks:
            x = block(x, layout, rotation, prefix)
        return self.decoder.norm(x)

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """The output matrix, tied or not; rows from `num_ids` on stand for nothing and belong to no softmax."""
        return (self.embedding if self.output is None else self.output).weight

    def embed_target(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """Vectors of the tokens, with their positions unless they are rotary, in the residual stream's precision."""
        x = self.embedding(stream.ids)
        match self.config.positions:
            case "sinusoidal":
                x = x + self.sines[stream.positions]
            case "learned":
                assert self.target_positions is not None
                x = x + self.target_positions(stream.positions)
            case "rotary" | "none":
                pass
        if self.config.residual == "half" and products_are_bfloat16_on_gpu(x.device):
            x = x.to(torch.bfloat16)
        return F.dropout(x, self.config.dropout, self.training)

    def compile_blocks(self) -> None:
        """Compiles one block, whose code all layers share (fixed shapes only)."""
        for block in self.decoder.blocks:
            block.compile(dynamic=False, options=inductor_options(self.config.norm))

    @torch.no_grad()
    def num_parameters(self) -> int:
        """Trained numbers, tied ones once."""
        return sum(parameter.numel() for parameter in self.parameters())


def products_are_bfloat16_on_gpu(device: torch.device) -> bool:
    """Whether autocast is on with bfloat16, whose range is that of float32; float16 would overflow in a sum."""
    if device.type != "cuda" or not torch.is_autocast_enabled("cuda"):
        return False
    return torch.get_autocast_dtype("cuda") is torch.bfloat16
