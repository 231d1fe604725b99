"""Where tiled attention can run, and how large its tiles are."""

import warnings
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import torch

LONGEST = 512
"""Where segments may be longer, the tiles of PyTorch's kernel are full too. Measured up to segments of 256, for which
tiles of the stream still take less than 0.87 of its time."""


class Tile(NamedTuple):
    """How a kernel is cut: a program keeps `rows` rows and runs over its partners, `columns` at a time."""

    rows: int
    columns: int
    warps: int
    stages: int
    """Steps of the loop whose loads are in flight at once."""


class Tiles(NamedTuple):
    """The three kernels; the last one's rows are keys, its columns queries."""

    forward: Tile
    of_queries: Tile
    """The gradient of the queries."""
    of_keys: Tile
    """The gradients of keys and values."""


TILES = {
    32: Tiles(Tile(64, 32, 4, 2), Tile(64, 32, 4, 2), Tile(64, 32, 4, 1)),
    64: Tiles(Tile(64, 32, 4, 3), Tile(64, 32, 4, 3), Tile(64, 32, 4, 3)),
    128: Tiles(Tile(64, 32, 4, 2), Tile(64, 32, 4, 2), Tile(64, 32, 4, 2)),
}
"""By head size; the fastest of those that benchmarks/attention_kernels.py compared on an H200."""


@cache
def tiles_run_on(device: torch.device) -> bool:
    """An NVIDIA GPU with bfloat16 tensor cores, and a Triton that works; warns where it is there and does not.

    Triton comes with PyTorch's CUDA builds, but needs a C compiler and Python's headers as well. On AMD's GPUs nobody
    has tried these kernels.
    """
    if device.type != "cuda" or torch.version.hip is not None or find_spec("triton") is None:
        return False
    if torch.cuda.get_device_capability(device) < (8, 0):
        return False
    from trimtab.model.tiled.trial import failure_on  # late: needs Triton

    failure = failure_on(device)
    if failure is not None:
        warnings.warn(
            f"attention takes the slower kernel, since Triton does not run here: {failure}", stacklevel=2
        )
    return failure is None
