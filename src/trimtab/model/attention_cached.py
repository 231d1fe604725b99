"""Attention while a cache grows by a token at a time: by the kernels of PyTorch that need no plan for each length."""

from contextlib import ContextDecorator
from typing import cast

from torch.nn.attention import SDPBackend, sdpa_kernel

UNPLANNED = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""All but cuDNN's. PyTorch prefers it on newer GPUs, and it makes a plan for each number of keys that comes for the
first time: the first translation of 1,813 lines took 17.6 s, the same again 1.7 s (seen once; H200, torch 2.11)."""


def at_any_length() -> ContextDecorator:
    """For a method in whose calls attention runs without plans."""
    return cast("ContextDecorator", sdpa_kernel(UNPLANNED))
