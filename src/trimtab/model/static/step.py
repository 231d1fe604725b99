"""One step of a decoder in memory of a fixed shape: no waiting for the device, no new shapes, so it can be recorded."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from trimtab.flow import Stream
from trimtab.model.attention_cached import at_any_length
from trimtab.model.block import DecoderBlock
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.position import Rotation, rotation_at
from trimtab.model.static.attend import Attend, attention_of
from trimtab.model.static.room import Place, Slots


class Around(NamedTuple):
    """What all blocks share in a step."""

    place: Place
    rotation: Rotation | None
    attend: Attend
    hidden: Float[Tensor, "rows 1 1 source"]
    """What is added to the scores of source tokens: minus infinity where there is none. Made once, for attention makes
    it of a mask in each call."""


@at_any_length()
def static_step(model: EncoderDecoder, place: Place) -> None:
    """Feeds `place.tokens`, all of them at the place `past`, and leaves the logits of what comes next; `past` grows."""
    rows, width, *_ = place.shape
    own = torch.arange(width, device=place.past.device)[None, :, None].expand(rows, -1, -1)
    place.ancestors.index_copy_(2, place.past, own)
    positions = place.past.expand(rows * width)
    stream = Stream(place.tokens.flatten(), positions, positions, positions.to(torch.int32), 1)
    x = model.embed_target(stream)
    hidden = torch.zeros_like(place.real, dtype=x.dtype).masked_fill_(~place.real, -torch.inf)
    around = Around(place, rotation_at(model.target_turns, positions), attention_of(place), hidden)
    for block, slots in zip(model.decoder.blocks, place.blocks, strict=True):
        x = _through(block, slots, x, around)
    logits = F.linear(model.decoder.norm(x), model.output_matrix)[:, : model.num_ids]
    place.logits.copy_(logits.view(rows, width, -1))
    place.past.add_(1)


def _through(
    block: DecoderBlock, slots: Slots, x: Float[Tensor, "hypotheses dim"], around: Around
) -> Float[Tensor, "hypotheses dim"]:
    """One decoder block, as in `Session.through`."""
    place, path = around.place, block.path
    rows, width, *_ = place.shape
    queries, keys, values = block.attention.project(path.enter(x, block.norm_attention), around.rotation)
    for kept, new in ((slots.keys, keys), (slots.values, values)):
        kept.flatten(0, 1).index_copy_(1, place.past, new[:, None])
    mixed = around.attend(queries, slots.keys, slots.values)
    x = path.leave(x, block.attention.out(mixed), block.norm_attention)

    entered = path.enter(x, block.norm_cross)
    queries = block.cross.q(entered).view(rows, width, block.cross.kv_heads, -1, block.cross.size)
    grouped = queries.transpose(1, 2).flatten(2, 3)
    mixed = F.scaled_dot_product_attention(
        grouped, slots.source_keys, slots.source_values, attn_mask=around.hidden
    )
    mixed = mixed.unflatten(2, (width, -1)).transpose(1, 2)
    x = path.leave(x, block.cross.out(mixed.reshape(len(x), -1)), block.norm_cross)
    update = block.feed_forward(path.enter(x, block.norm_feed_forward))
    return path.leave(x, update, block.norm_feed_forward)
