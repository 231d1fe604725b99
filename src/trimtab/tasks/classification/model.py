"""The model: a transformer encoder over flat segments, the mean of each, and a linear map to the labels."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.encoder_model import EncoderModel
from trimtab.config.layer_parts import SUM_WITHOUT_NORM
from trimtab.model.block import EncoderBlock, SelfAttention
from trimtab.model.feed_forward import GATED, FeedForward
from trimtab.model.init import xavier
from trimtab.model.norm import SubLayerNorm, zero_gains
from trimtab.model.positions.build import Sizes, build_positions
from trimtab.model.sequence_layout import sequence_layout
from trimtab.model.stack import Stack
from trimtab.model.transformer import Transformer
from trimtab.tasks.classification.batches import LabelledBatch
from trimtab.types import Stream

FIRST_STD = 0.1
"""Of the logits of an untrained model whose vectors have unit variance: so small that its loss is ln(labels)."""


class SequenceClassifier(Transformer):
    """The encoder of Vaswani et al. 2017 (arXiv 1706.03762), averaged over the tokens of a text.

    Names of weights: `embedding.weight`, `encoder.blocks.N.*` as an encoder-decoder has them, `encoder.norm.*`,
    `source_positions.weight` where positions are learned, and `output.weight`, a row for each label.
    """

    def __init__(
        self, config: EncoderModel, *, num_labels: int, num_pieces: int, max_positions: int, seed: int
    ) -> None:
        """`num_pieces` is the size of the vocabulary. Both matrices have more rows, up to a multiple of 64, for speed.
        No text may be longer than `max_positions` tokens."""
        super().__init__(config, num_ids=num_labels, max_positions=max_positions)
        self.config = config
        rows, pieces = (-(-number // 64) * 64 for number in (num_labels, num_pieces))
        self.embedding = nn.Embedding(pieces, config.dim)
        self.output = nn.Embedding(rows, config.dim)
        sizes = Sizes(max_positions, config.dim, config.heads, 1.0, math.sqrt(config.dim), bidirectional=True)
        self.source_positions = build_positions(config.position_settings, sizes)
        self.encoder = Stack([EncoderBlock(config) for _ in range(config.layers)], config)
        init_classifier(self, config, seed=seed)
        self.begins_zero = zero_gains(self)

    def forward(self, batch: LabelledBatch) -> Float[Tensor, "segments dim"]:
        """The vector from which each label is predicted, `output_matrix @ vector` being its logits."""
        return segment_means(self.encode(batch.text), batch.text, len(batch.labels))

    def encode(self, stream: Stream) -> Float[Tensor, "tokens dim"]:
        """The encoder's output for each token."""
        layout, positions = (
            sequence_layout(stream, padded=self.padded),
            self.source_positions.of_stream(stream),
        )
        x = self.source_positions.embed(
            self.embedding(stream.ids) * math.sqrt(self.config.dim), stream.positions
        )
        x = F.dropout(x, self.config.dropout, self.training)
        for block in self.encoder.blocks:
            x = self.after(block, x, layout, positions)
        return self.encoder.norm(x)

    def wrongly_tied(self) -> str:
        """Which matrices are not tied as the settings say; empty where all are."""
        is_tied = self.output_matrix.data_ptr() == self.embedding.weight.data_ptr()
        return "" if is_tied == self.config.tie_embeddings else "the output matrix and the embeddings"

    def tokens_read(self, batch: LabelledBatch) -> dict[str, int]:
        """How many real tokens of a batch each stack of layers reads, by the stack's name."""
        return {"encoder": batch.num_tokens}

    @property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The layers."""
        return (*self.encoder.blocks,)


def segment_means(
    x: Float[Tensor, "tokens dim"], stream: Stream, count: int
) -> Float[Tensor, "segments dim"]:
    """The mean vector of each of `count` segments, added up in float32 or wider; zeros for an empty one."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    sums = wide.new_zeros(count, x.shape[1]).index_add(0, stream.segments, wide)
    lengths = stream.cu_seqlens.diff()[:, None].clamp(min=1)
    return (sums / lengths).to(x.dtype)


@torch.no_grad()
def init_classifier(model: SequenceClassifier, config: EncoderModel, *, seed: int) -> None:
    """Fills every parameter as `model.init` does for an encoder; the same seed gives the same weights on any device.

    The matrix of the labels is small, so that the first loss is that of a model that knows nothing.
    """
    generator = torch.Generator().manual_seed(seed)
    damp = 1 / math.sqrt(2 * config.layers) if config.norm_position in SUM_WITHOUT_NORM else 1.0
    for module in model.modules():
        match module:
            case SubLayerNorm() if module.last is not None:
                module.last.weight.fill_(damp)
            case SelfAttention():
                xavier(module.qkv, width=config.dim, gain=1.0, generator=generator)
                xavier(module.out, width=config.dim, gain=damp, generator=generator)
            case FeedForward():
                gates = 2 if config.activation in GATED else 1
                width = module.up.out_features // gates
                xavier(module.up, width=width, gain=1.0, generator=generator)
                xavier(module.down, width=config.dim, gain=damp, generator=generator)
            case nn.Embedding():
                scale = FIRST_STD if module is model.output else 1.0
                values = torch.randn(module.weight.shape, generator=generator) / math.sqrt(config.dim)
                module.weight.copy_(scale * values)
