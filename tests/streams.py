"""Small packs for tests of stages that receive them."""

import torch

from trimtab.types import PackedBatch, Stream

START = 2


def stream_of(rows, *, max_seqlen=None):
    lengths = torch.tensor([len(row) for row in rows])
    cu_seqlens = torch.cat([torch.zeros(1), lengths.cumsum(0)]).to(torch.int32)
    positions = torch.cat([torch.arange(n) for n in lengths.tolist()])
    segments = torch.repeat_interleave(torch.arange(len(rows)), lengths)
    ids = torch.tensor([i for row in rows for i in row])
    return Stream(ids, positions, segments, cu_seqlens, max_seqlen or int(lengths.max()))


def pack_of(sources, targets, *, max_seqlen=None):
    inputs = [[START, *row[:-1]] for row in targets]
    labels = torch.tensor([i for row in targets for i in row])
    tokens = sum(map(len, sources)) + len(labels)
    return PackedBatch(
        stream_of(sources, max_seqlen=max_seqlen),
        stream_of(inputs, max_seqlen=max_seqlen),
        labels,
        len(sources),
        len(labels),
        tokens,
    )
