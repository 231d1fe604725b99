"""Packs the rows of a micro-batch into two flat streams, padded to a fixed shape if kernels need one."""

import numpy as np
import torch

from trimtab.data.shape import PackShape
from trimtab.types import IGNORE, PackedBatch, Ragged, Stream


def assemble(
    source: Ragged,
    target: Ragged,
    shape: PackShape,
    *,
    start_symbol: int,
    pad_symbol: int,
    source_pad_symbol: int | None = None,
    prompt: np.ndarray | None = None,
) -> PackedBatch:
    """The pack of these rows, which fit into the shape; the source is padded as the target, or with its own symbol.

    `prompt` says how many leading target tokens of each row do not count in the loss; fewer than it has.

    Where the shape is fixed, the tail of both streams is cut into segments of padding: none longer than the longest
    sentence, since kernels take their time from the longest one; none beyond the last boundary, where attention kernels
    leave the gradient undefined; and none with a target but no source.
    """
    num_written, num_sources = int(target.offsets[-1]), int(source.offsets[-1])
    used, capacity = (
        (num_sources, num_written, len(target)),
        (shape.source_capacity, shape.target_capacity, shape.segment_capacity),
    )
    assert all(one <= other for one, other in zip(used, capacity, strict=True)), (
        f"{used} do not fit into {capacity}"
    )
    source_pad = pad_symbol if source_pad_symbol is None else source_pad_symbol
    source_tail, target_tail = _tail(num_sources, num_written, shape)
    decoder_input = np.empty_like(target.values)
    decoder_input[1:] = target.values[:-1]
    decoder_input[target.offsets[:-1]] = start_symbol
    source_offsets = _boundaries(source.offsets, source_tail, shape)
    target_offsets = _boundaries(target.offsets, target_tail, shape)
    labels = _filled(target.values, target_offsets, IGNORE)
    prefix = np.zeros(len(target_offsets) - 1, np.int32) if shape.prefix else None
    if prompt is not None:
        labels[_leading(target.offsets, prompt)] = IGNORE
        if prefix is not None:  # with the start symbol, which comes before the prefix
            prefix[: len(prompt)] = np.where(prompt > 0, prompt + 1, 0)
    return PackedBatch(
        source=_stream(
            _filled(source.values, source_offsets, source_pad), source_offsets, shape.source_max_seqlen, shape
        ),
        target=_stream(
            _filled(decoder_input, target_offsets, pad_symbol),
            target_offsets,
            shape.target_max_seqlen,
            shape,
            prefix,
        ),
        labels=torch.from_numpy(labels),
        num_segments=len(target),
        num_targets=num_written - (0 if prompt is None else int(prompt.sum())),
        num_tokens=num_sources + num_written,
    )


def _leading(offsets: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The places of so many first tokens of each row."""
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.repeat(offsets[:-1] - before, counts) + np.arange(counts.sum())


def _tail(num_sources: int, num_targets: int, shape: PackShape) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the segments that fill the source and the target stream; as many on either side."""
    if not shape.fixed:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    source_left, target_left = shape.source_slots - num_sources, shape.target_slots - num_targets
    parts = -(-target_left // shape.target_max_seqlen)
    if shape.has_source:
        parts = max(parts, -(-source_left // shape.source_max_seqlen))
    return _split(source_left, parts), _split(target_left, parts)


def _split(size: int, parts: int) -> np.ndarray:
    """Even lengths, the larger ones first."""
    numbers = np.arange(parts)
    return (size + parts - 1 - numbers) // max(parts, 1)


def _boundaries(offsets: np.ndarray, tail: np.ndarray, shape: PackShape) -> np.ndarray:
    ends = np.concatenate([offsets, offsets[-1] + np.cumsum(tail)])
    if not shape.fixed:
        return ends
    return np.pad(ends, (0, shape.max_segments + 1 - len(ends)), mode="edge")


def _filled(values: np.ndarray, cu_seqlens: np.ndarray, filler: int) -> np.ndarray:
    slots = np.full(cu_seqlens[-1], filler, np.int64)
    slots[: len(values)] = values
    return slots


def _stream(
    ids: np.ndarray,
    cu_seqlens: np.ndarray,
    max_seqlen: int,
    shape: PackShape,
    prefix: np.ndarray | None = None,
) -> Stream:
    lengths = np.diff(cu_seqlens)
    return Stream(
        ids=torch.from_numpy(ids),
        positions=torch.from_numpy(np.arange(len(ids)) - np.repeat(cu_seqlens[:-1], lengths)),
        segments=torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)),
        cu_seqlens=torch.from_numpy(cu_seqlens.astype(np.int32)),
        max_seqlen=max_seqlen if shape.fixed else int(lengths.max()),
        prefix=None if prefix is None else torch.from_numpy(prefix),
    )
