"""Shifted absolute positions (SHAPE): in training each text begins at a position by chance.

Source: Kiyono et al. 2021, arXiv 2109.05644, section 3.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from trimtab.types import Stream


def shifted_positions(stream: Stream, *, most: int) -> Int[Tensor, "tokens"]:
    """The positions of a stream's tokens, with a number from 0 to `most` added to all of each segment. It is drawn from
    the generator of the device, which a step seeds as for dropout."""
    segments = stream.cu_seqlens.shape[0] - 1
    offsets = torch.randint(0, most + 1, (segments,), device=stream.positions.device)
    return stream.positions + offsets[stream.segments]
