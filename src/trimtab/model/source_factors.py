"""Embeds source factors beside the pieces of a source.

Source: Sennrich and Haddow 2016, "Linguistic Input Features Improve Neural Machine Translation", arXiv 1606.02892,
section 2 (concatenation); sums are what Sockeye and Marian use by default.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class FactorSize:
    """A factor, as the model sees it."""

    name: str
    num_values: int
    dim: int | None
    """Width of an embedding that is appended to that of the piece; None for one that is added to it."""


class SourceFactors(nn.Module):
    """A table for each factor. An id is `piece + num_ids * (first + firsts * (second + ...))`."""

    def __init__(self, factors: Sequence[FactorSize], *, num_ids: int, dim: int) -> None:
        super().__init__()
        self.num_ids = num_ids
        self.sizes = tuple(factors)
        self.tables = nn.ModuleDict(
            {_key(each): nn.Embedding(each.num_values, each.dim or dim) for each in factors}
        )

    def table(self, name: str) -> nn.Embedding | None:
        """The table of a factor; None if there is none of this name."""
        found = next((each for each in self.sizes if each.name == name), None)
        if found is None:
            return None
        table = self.tables[_key(found)]
        assert isinstance(table, nn.Embedding)
        return table

    def forward(self, ids: Int[Tensor, "tokens"], pieces: nn.Embedding) -> Float[Tensor, "tokens dim"]:
        """The vector of each token: that of its piece, followed by the appended factors, the others added."""
        rest, piece = ids // self.num_ids, ids % self.num_ids
        added: list[Tensor] = []
        appended = [pieces(piece)]
        for size in self.sizes:
            vectors = self.tables[_key(size)](rest % size.num_values)
            rest = rest // size.num_values
            (added if size.dim is None else appended).append(vectors)
        whole = torch.cat(appended, dim=-1) if len(appended) > 1 else appended[0]
        for vectors in added:
            whole = whole + vectors
        return whole


def _key(size: FactorSize) -> str:
    """A name that no attribute of a module has."""
    return f"of_{size.name}"
