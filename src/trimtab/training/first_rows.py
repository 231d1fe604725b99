"""The beginning of a batch, for probes whose passes must not cost more where a pack is large."""

from dataclasses import replace

from trimtab.types import IGNORE, PackedBatch, Stream

MOST_TOKENS = 2048
"""Tokens of the source, and of the target, that are looked at; more where a single row is longer."""


def first_rows(batch: PackedBatch, *, least: int = 1) -> PackedBatch:
    """The first segments of a pack, as many as have at most MOST_TOKENS on either side, and at least `least` where
    there are so many; without links."""
    sides = [each.cu_seqlens[1 : batch.num_segments + 1] for each in (batch.source, batch.target)]
    rows = max(min(int((ends <= MOST_TOKENS).sum()) for ends in sides), min(least, batch.num_segments))
    source, target = (_first_of(each, rows) for each in (batch.source, batch.target))
    labels = batch.labels[: len(target.ids)]
    return replace(
        batch,
        source=source,
        target=target,
        labels=labels,
        num_segments=rows,
        num_targets=int((labels != IGNORE).sum()),
        num_tokens=len(source.ids) + len(target.ids),
        links=None,
    )


def _first_of(stream: Stream, rows: int) -> Stream:
    end = int(stream.cu_seqlens[rows])
    return replace(
        stream,
        ids=stream.ids[:end],
        positions=stream.positions[:end],
        segments=stream.segments[:end],
        cu_seqlens=stream.cu_seqlens[: rows + 1],
        prefix=None if stream.prefix is None else stream.prefix[:rows],
        full=min(stream.full, rows),
    )
