"""Pads rows of ids to a matrix, in batches that waste little of it."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

BATCH_TOKENS = 2048
"""Tokens of one batch that is scored, padding included."""


def padded(
    rows: Sequence[Sequence[int]], *, pad: int, device: torch.device
) -> tuple[Int[Tensor, "rows longest"], Bool[Tensor, "rows longest"]]:
    """The rows, and where there is a token of them."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]


def batches_of(lengths: np.ndarray, *, batch_tokens: int = BATCH_TOKENS) -> list[list[int]]:
    """Numbers of rows, the longest first, in batches of at most so many tokens; one row at least in each."""
    batches: list[list[int]] = []
    for row in np.argsort(-lengths, kind="stable").tolist():
        if not batches or (len(batches[-1]) + 1) * int(lengths[batches[-1][0]]) > batch_tokens:
            batches.append([])
        batches[-1].append(row)
    return batches
