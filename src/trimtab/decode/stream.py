"""Rows of source ids as one flat stream, the form in which a model takes them."""

from collections.abc import Sequence

import numpy as np
import torch

from trimtab.types import Ragged, Stream


def stream_of(rows: Sequence[Sequence[int]], device: torch.device) -> Stream:
    """The rows joined without padding, one segment each, in their order."""
    ragged = Ragged.of(rows)
    lengths = ragged.lengths
    segments = np.repeat(np.arange(len(rows)), lengths)
    positions = np.arange(ragged.offsets[-1]) - np.repeat(ragged.offsets[:-1], lengths)
    return Stream(
        ids=torch.from_numpy(ragged.values.astype(np.int64)),
        positions=torch.from_numpy(positions),
        segments=torch.from_numpy(segments),
        cu_seqlens=torch.from_numpy(ragged.offsets.astype(np.int32)),
        max_seqlen=int(lengths.max(initial=0)),
    ).to(device)
