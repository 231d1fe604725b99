"""Normalisation of hidden vectors."""

from typing import Literal, assert_never

from torch import nn

RMS_EPSILON = 1e-6
"""The usual one of RMSNorm."""


def build_norm(kind: Literal["layer", "rms"], dim: int, *, epsilon: float | None = None) -> nn.Module:
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467), with a learned gain (and bias for the first).
    `epsilon` is that of a pretrained model; None for the usual one."""
    match kind:
        case "layer":
            return nn.LayerNorm(dim, eps=epsilon or 1e-5)
        case "rms":
            return nn.RMSNorm(dim, eps=epsilon or RMS_EPSILON)
        case _:
            assert_never(kind)
