"""What a model takes from its context: how much worse it predicts when it reads that of another text.

A model of documents may score as well without the sentences before each line, and a translator may ignore its source; a
context of another text shows it, where leaving it out would give the model an input that it was never trained on
(Kim et al. 2019, arXiv 1910.00294).
"""

from dataclasses import replace
from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor, nn

from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.training.first_rows import first_rows
from trimtab.training.position_use import loss_of
from trimtab.types import IGNORE, PackedBatch, Stream

FEWEST_ROWS = 2
"""Texts that can be given each other's context."""


@torch.no_grad()
def context_use(model: nn.Module, batch: object, *, separator: int | None = None) -> dict[str, float]:
    """The increase of a batch's loss, in nats per target, with the context of the next text: for a translator its
    source (`loss_with_other_source`) and, where `separator` ends the sentences before a line, those alone
    (`loss_with_other_context`); for a language model the first half of each text, where the labels of the second half
    are scored (`loss_with_other_beginning`). All are of the first rows of the batch. Empty for other models and for a
    single text. The model must be in evaluation mode."""
    if not isinstance(batch, PackedBatch) or batch.num_segments < FEWEST_ROWS:
        return {}
    batch = first_rows(batch, least=FEWEST_ROWS)
    match model:
        case EncoderDecoder():
            changed = {
                "loss_with_other_source": replace(batch, source=rolled(batch.source, batch.num_segments))
            }
            if separator is not None:
                context = other_contexts(batch.source, rows=batch.num_segments, separator=separator)
                changed["loss_with_other_context"] = replace(batch, source=context)
        case DecoderOnly() if batch.target.prefix is None:
            batch = replace(batch, labels=of_second_halves(batch))
            beginnings = other_beginnings(batch.target, rows=batch.num_segments)
            changed = {"loss_with_other_beginning": replace(batch, target=beginnings)}
        case _:
            return {}
    if not bool((batch.labels != IGNORE).any()):
        return {}
    loss = loss_of(model, model(batch), batch)
    return {name: loss_of(model, model(each), each) - loss for name, each in changed.items()}


def rolled(stream: Stream, rows: int) -> Stream:
    """Each of the first segments in the place of the one before it, the first in that of the last."""
    starts, lengths = stream.cu_seqlens[:-1].long(), stream.cu_seqlens.diff().long()
    order = torch.arange(len(lengths), device=stream.ids.device)
    order[:rows] = order[:rows].roll(-1)
    bounds = torch.cat([stream.cu_seqlens[:1], lengths[order].cumsum(0).to(stream.cu_seqlens.dtype)])
    segments = torch.repeat_interleave(torch.arange(len(lengths), device=order.device), lengths[order])
    real = len(segments)
    positions = torch.arange(real, device=order.device) - bounds[:-1].long()[segments]
    ids, places, numbers = stream.ids.clone(), stream.positions.clone(), stream.segments.clone()
    ids[:real] = stream.ids[starts[order][segments] + positions]
    places[:real], numbers[:real] = positions, segments
    return Stream(ids, places, numbers, bounds, stream.max_seqlen)


def other_contexts(stream: Stream, *, rows: int, separator: int) -> Stream:
    """The segments with what lies before their last separator taken from the next segment's, repeated or cut to the
    same length, so that the line itself keeps its place."""
    bounds = stream.cu_seqlens.tolist()
    texts = [stream.ids[start:stop] for start, stop in pairwise(bounds[: rows + 1])]
    lengths = [last_place(text, separator) for text in texts]
    ids = stream.ids.clone()
    for row, length in enumerate(lengths):
        other = next(
            (each for each in (*range(row + 1, rows), *range(row)) if lengths[each]), row
        )  # a first sentence has no context to lend
        if length and lengths[other]:
            lent = texts[other][: lengths[other]]
            ids[bounds[row] : bounds[row] + length] = lent.repeat(-(-length // len(lent)))[:length]
    return replace(stream, ids=ids)


def last_place(text: Int[Tensor, "tokens"], id: int) -> int:
    """Where an id stands last; 0 where it does not."""
    found = (text == id).nonzero()
    return int(found[-1]) if len(found) else 0


def other_beginnings(stream: Stream, *, rows: int) -> Stream:
    """The first half of each segment, but its start symbol, taken from the next segment's beginning, repeated where
    that is shorter."""
    bounds, ids = stream.cu_seqlens.tolist(), stream.ids.clone()
    for row in range(rows):
        start, stop = bounds[row : row + 2]
        begun = (row + 1) % rows
        lent = stream.ids[bounds[begun] + 1 : bounds[begun + 1]]
        half = (stop - start) // 2
        if half > 1 and len(lent):
            ids[start + 1 : start + half] = lent.repeat(-(-half // len(lent)))[: half - 1]
    return replace(stream, ids=ids)


def of_second_halves(batch: PackedBatch) -> Int[Tensor, "target_tokens"]:
    """The labels without those of the first half of each segment."""
    lengths = batch.target.cu_seqlens.diff().long()
    half = (lengths // 2)[batch.target.segments.long().clamp(max=len(lengths) - 1)]
    return torch.where(batch.target.positions < half, IGNORE, batch.labels)
