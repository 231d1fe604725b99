"""Attention of one token of each hypothesis to those before it, through the table of ancestors."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.positions.shaw import Relative, attend_biased
from trimtab.model.static.session_memory import Place

AttendAncestors = Callable[[Tensor, Tensor, Tensor, Relative | None], Tensor]
"""From queries `hypotheses heads size`, keys and values `rows width room kv_heads size`, and what the layer adds by
distance, what each hypothesis takes, its heads side by side."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the past of each hypothesis lies; the same for all blocks."""

    slots: Int[Tensor, "hypotheses_times_room"]
    """Hypothesis by hypothesis, the slots of its tokens, counted over all hypotheses."""
    seen: Bool[Tensor, "1 1 1 room"]
    """Which of these are in the past or the present."""


def attention_of(place: Place, model: EncoderDecoder, dtype: torch.dtype) -> AttendAncestors:
    """By a kernel where the place is made for it, else by gathering keys and values."""
    if not place.by_kernel:
        reach, bias = reach_of(place), bias_of(place, model, dtype)
        return lambda queries, keys, values, relative: attend_ancestors(
            queries, keys, values, reach, relative if bias is None else bias
        )
    from trimtab.model.static.kernel import attend_by_kernel  # late: needs Triton

    def attend(queries: Tensor, keys: Tensor, values: Tensor, relative: Relative | None) -> Tensor:
        assert relative is None, "a model with a bias, which has no such kernel"
        return attend_by_kernel(queries, keys, values, place.ancestors, place.past)

    return attend


def bias_of(
    place: Place, model: EncoderDecoder, dtype: torch.dtype
) -> Float[Tensor, "1 kv_heads group room"] | None:
    """What positions add to the scores of the newest token and each place; None if they add nothing."""
    memory = torch.arange(place.shape.memory, device=place.past.device)
    bias = model.target_positions.bias(place.past, memory)
    if bias is None:
        return None
    return bias.to(dtype).unflatten(0, (model.config.decoder.kv_heads, -1)).squeeze(2)[None]


def distances_of(place: Place, model: EncoderDecoder) -> PositionInputs:
    """Rows of each layer's tables of distances for the newest token and each place, where there are tables."""
    memory = torch.arange(place.shape.memory, device=place.past.device)
    return PositionInputs(distances=model.target_positions.distances(place.past, memory))


def reach_of(place: Place) -> Reach:
    """From the table of ancestors. Slots of the future stand for the newest one and are hidden, so that nothing is
    ever read that was not written: it might be NaN, which no weight of 0 puts right."""
    rows, width, _, memory = place.shape
    device = place.past.device
    times = torch.arange(memory, device=device)
    first = torch.arange(rows, device=device)[:, None, None] * width
    slots = (first + place.ancestors) * memory + torch.minimum(times, place.past)
    return Reach(slots.flatten(), (times <= place.past)[None, None, None])


def attend_ancestors(
    queries: Float[Tensor, "hypotheses heads size"],
    keys: Float[Tensor, "rows width room kv_heads size"],
    values: Float[Tensor, "rows width room kv_heads size"],
    reach: Reach,
    bias: Float[Tensor, "1 kv_heads group room"] | Relative | None = None,
) -> Float[Tensor, "hypotheses heads_times_size"]:
    """Any device and precision. Heads of queries that share one of keys are asked as further queries of it."""
    kept, size = keys.shape[3:]
    gathered = [
        slots.view(-1, kept * size)
        .index_select(0, reach.slots)
        .view(len(queries), -1, kept, size)
        .transpose(1, 2)
        for slots in (keys, values)
    ]
    grouped = queries.unflatten(1, (kept, -1))
    return attend_biased(grouped, *gathered, seen=reach.seen, bias=bias).flatten(1)
