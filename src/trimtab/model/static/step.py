"""One step of a decoder in memory of a fixed shape: no waiting for the device, no new shapes, so it can be recorded."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from trimtab.model.attention_cached import at_any_length, stream_at
from trimtab.model.block import Attend
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.positions.shaw import Relative
from trimtab.model.session import attend_shared_source
from trimtab.model.static.attend import AttendAncestors, attention_of, distances_of
from trimtab.model.static.session_memory import Place, Slots


@at_any_length()
def static_step(model: EncoderDecoder, place: Place) -> None:
    """Feeds `place.tokens`, all of them at the place `past`, and leaves the logits of what comes next; `past` grows."""
    rows, width, *_ = place.shape
    own = torch.arange(width, device=place.past.device)[None, :, None].expand(rows, -1, -1)
    place.ancestors.index_copy_(2, place.past, own)
    positions = place.past.expand(rows * width)
    x = model.embed_target(stream_at(place.tokens.flatten(), positions))
    # Added to the scores of source tokens: minus infinity if there is none. Made once, since attention would make
    # it of a mask in each call.
    hidden = torch.zeros_like(place.real, dtype=x.dtype).masked_fill_(~place.real, -torch.inf)
    rotary, attend = model.target_positions.rotate(positions), attention_of(place, model, x.dtype)
    by_distance = distances_of(place, model)
    for block, slots in zip(model.decoder.blocks, place.blocks, strict=True):
        x = block.run(
            x,
            partial(
                block.attention.attend_by,
                attend_cached(attend, place, slots, block.attention.added(by_distance)),
                rotary=rotary,
            ),
            partial(block.cross.attend_by, attend_source(slots, width=width, mask=hidden)),
        )
    logits = F.linear(model.decoder.norm(x), model.output_matrix)[:, : model.num_ids]
    place.logits.copy_(logits.view(rows, width, -1))
    place.past.add_(1)


def attend_cached(attend: AttendAncestors, place: Place, slots: Slots, relative: Relative | None) -> Attend:
    """Attention of one token of each hypothesis that first puts its keys and values into their slots."""

    def attend_and_put(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        for kept, new in ((slots.keys, keys), (slots.values, values)):
            kept.flatten(0, 1).index_copy_(1, place.past, new[:, None])
        return attend(queries, slots.keys, slots.values, relative)

    return attend_and_put


def attend_source(slots: Slots, *, width: int, mask: Tensor) -> Callable[[Tensor], Tensor]:
    """Attention of one token of each hypothesis to the source of its row."""

    def attend(queries: Tensor) -> Tensor:
        return attend_shared_source(queries, slots.source_keys, slots.source_values, width=width, mask=mask)

    return attend
