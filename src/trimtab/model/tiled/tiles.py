"""How large the tiles of tiled attention are."""

from typing import NamedTuple

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
