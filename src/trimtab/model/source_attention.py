"""How much each target token attends to each source token, where the target is given; to train it, and to read it."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.model.attention_padded import pad_rows
from trimtab.model.block import AlignedOutput, Source
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.router import count_real
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.types import PackedBatch


def forward_aligned(model: EncoderDecoder, batch: PackedBatch, *, layer: int, head: int) -> AlignedOutput:
    """The model's own forward pass, with queries and keys of one head of its attention to the source; layer and head
    are counted from 1."""
    source, target = (sequence_layout(each, padded=model.padded) for each in (batch.source, batch.target))
    if model.config.experts is not None:
        count_real(model, batch)
    memory = model.encode(batch.source, source)
    both = Source(memory, target, source)
    x, positions = model.embed_target(batch.target), model.target_positions.of_stream(batch.target)
    found: list[Tensor] = []
    for number, block in enumerate(model.decoder.blocks, start=1):
        if number == layer:
            x, *found = block(x, target, positions, source=both, head=head - 1)
        else:
            x = model.after(block, x, target, positions, source=both)
    return AlignedOutput(model.decoder.norm(x), *found)


Watch = Callable[[int, Tensor], None]
"""Takes the number of a decoder layer, from 1, and its attention, `rows heads targets sources`."""


def watch_source_attention(
    model: EncoderDecoder, batch: PackedBatch, watch: Watch, *, until: int | None = None
) -> None:
    """Runs the model over pairs and hands each decoder layer's attention to the source to `watch`, in float32; padding
    has none. Stops after the layer `until`.

    In row t of the targets the model has read the target up to the symbol before t, and predicts t.
    """
    source, target = (sequence_layout(each, padded=model.padded) for each in (batch.source, batch.target))
    dense = tuple(sequence_layout(each, padded=True) for each in (batch.source, batch.target))
    memory = model.encode(batch.source, source)
    x, positions = model.embed_target(batch.target), model.target_positions.of_stream(batch.target)
    for number, block in enumerate(model.decoder.blocks[:until], start=1):

        def attend_self(entered: Tensor, block: torch.nn.Module = block) -> Tensor:
            return block.attention(entered, target, positions, causal=True)

        def attend_source(entered: Tensor, block: torch.nn.Module = block, number: int = number) -> Tensor:
            cross = block.cross
            queries = cross.q(entered).view(len(entered), cross.heads, cross.size)
            keys, _ = cross.keys_values(memory)
            watch(number, _probabilities(queries, keys, *dense))
            return cross(entered, memory, target, source)

        x = block.run(x, attend_self, attend_source)


def _probabilities(
    queries: Float[Tensor, "targets heads size"],
    keys: Float[Tensor, "sources kv_heads size"],
    source: SequenceLayout,
    target: SequenceLayout,
) -> Float[Tensor, "rows heads longest_target longest_source"]:
    q, k = pad_rows(queries.float(), target), pad_rows(keys.float(), source)
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = q @ k.transpose(2, 3) / queries.shape[2] ** 0.5
    assert source.real is not None
    return scores.masked_fill(~source.real[:, None, None, :], -torch.inf).softmax(-1)
