"""The aligned tokens of rows as slots of their pack."""

import numpy as np
import torch

from trimtab.data.shape import PackShape
from trimtab.types import Ragged, TokenLinks

LINKS_PER_SLOT = 2
"""Where shapes are fixed, links come in multiples of so many for each target slot: what most packs need is one."""


def pack_links(links: Ragged, source: Ragged, target: Ragged, shape: PackShape) -> TokenLinks:
    """The links of these rows, each row target and source token in turn. The links of a target token share a weight of
    1 equally."""
    pairs = links.values.reshape(-1, 2).astype(np.int64)
    row = np.repeat(np.arange(len(links)), links.lengths // 2)
    targets, sources = pairs[:, 0] + target.offsets[row], pairs[:, 1] + source.offsets[row]
    counts = np.bincount(targets, minlength=1)
    weights = (1 / counts[targets]).astype(np.float32)
    size = len(targets)
    if shape.fixed:
        unit = LINKS_PER_SLOT * shape.target_slots
        size = max(1, -(-size // unit)) * unit
    filled = (np.pad(each, (0, size - len(each))) for each in (targets, sources, weights))
    return TokenLinks(*map(torch.from_numpy, filled))
