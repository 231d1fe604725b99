"""What every kind of positions answers; by default it adds nothing, rotates nothing and biases nothing."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.types import Stream


class RotaryCosSin(NamedTuple):
    """Cosine and sine for each token, by which queries and keys are rotated."""

    cos: Float[Tensor, "tokens 1 half"]
    sin: Float[Tensor, "tokens 1 half"]
    values: bool = False
    """Whether values are rotated too, and what a token takes of them rotated back by its own angle."""

    def rotate(self, x: Float[Tensor, "tokens heads size"]) -> Float[Tensor, "tokens heads size"]:
        """Rotates each pair (i, i + size/2) of a head's values by the angle of its token's position."""
        first, second = x.float().chunk(2, dim=-1)
        rotated = torch.cat(
            [first * self.cos - second * self.sin, second * self.cos + first * self.sin], dim=-1
        )
        return rotated.to(x.dtype)

    def rotate_back(self, x: Float[Tensor, "tokens heads size"]) -> Float[Tensor, "tokens heads size"]:
        """Undoes `rotate`."""
        return self._replace(sin=-self.sin).rotate(x)

    def first(self, tokens: int) -> "RotaryCosSin":
        """Those of the first tokens."""
        return self._replace(cos=self.cos[:tokens], sin=self.sin[:tokens])


class PositionInputs(NamedTuple):
    """What self-attention takes of positions; made once for all layers."""

    rotary: RotaryCosSin | None = None
    bias: Float[Tensor, "*rows heads queries keys"] | None = None
    distances: Int[Tensor, "*rows queries keys"] | None = None
    """Rows of the tables of vectors that each layer has for distances; None without such tables."""


class Positions(nn.Module):
    """Positions of one side of a model. A kind overrides what it does and leaves the rest."""

    def embed(
        self, x: Float[Tensor, "tokens dim"], positions: Int[Tensor, "tokens"]
    ) -> Float[Tensor, "tokens dim"]:
        """The embeddings with the vectors of their positions added, where the kind has vectors."""
        return x

    def rotate(self, positions: Int[Tensor, "tokens"]) -> RotaryCosSin | None:
        """By what queries and keys of these tokens are rotated; None if they are not."""
        return None

    def bias(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Float[Tensor, "*rows heads queries keys"] | None:
        """What is added to the scores between tokens at these positions; None if nothing is."""
        return None

    def distances(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Int[Tensor, "*rows queries keys"] | None:
        """The row of a layer's tables for each distance between these positions; None without such tables."""
        return None

    def of_stream(self, stream: Stream) -> PositionInputs:
        """For the segments of a stream, all of which begin at position 0."""
        row = torch.arange(stream.max_seqlen, device=stream.positions.device)
        return PositionInputs(self.rotate(stream.positions), self.bias(row, row), self.distances(row, row))

    def table(self) -> Float[Tensor, "positions dim"] | None:
        """What `embed` adds at each position, for exports; None if it adds nothing."""
        return None

    def rotary_table(self) -> Float[Tensor, "positions size"] | None:
        """Cosines in the first half of each row, sines in the second, for exports; None without rotation."""
        return None

    def keep_precision(self, original: "Positions") -> None:
        """Takes from the module that this one is a half-precision copy of what must not be rounded."""
