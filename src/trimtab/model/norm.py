"""Normalisation of hidden vectors."""

from typing import Literal, assert_never

from torch import nn


def build_norm(kind: Literal["layer", "rms"], dim: int) -> nn.Module:
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467), with a learned gain (and bias for the first)."""
    match kind:
        case "layer":
            return nn.LayerNorm(dim, eps=1e-5)
        case "rms":
            return nn.RMSNorm(dim, eps=1e-6)
        case _:
            assert_never(kind)
