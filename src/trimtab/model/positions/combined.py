"""Absolute positions in the embeddings together with relative ones in attention."""

from jaxtyping import Float, Int
from torch import Tensor

from trimtab.model.positions.kind import Positions, RotaryCosSin


class CombinedPositions(Positions):
    """What each of the two does. Source: P-Transformer, Li et al. 2022, arXiv 2212.05830."""

    def __init__(self, absolute: Positions, relative: Positions) -> None:
        super().__init__()
        self.absolute, self.relative = absolute, relative

    def embed(
        self, x: Float[Tensor, "tokens dim"], positions: Int[Tensor, "tokens"]
    ) -> Float[Tensor, "tokens dim"]:
        """Adds the absolute ones."""
        return self.absolute.embed(x, positions)

    def rotate(self, positions: Int[Tensor, "tokens"]) -> RotaryCosSin | None:
        """As the relative ones."""
        return self.relative.rotate(positions)

    def bias(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Float[Tensor, "*rows heads queries keys"] | None:
        """As the relative ones."""
        return self.relative.bias(queries, keys)

    def distances(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Int[Tensor, "*rows queries keys"] | None:
        """As the relative ones."""
        return self.relative.distances(queries, keys)

    def table(self) -> Float[Tensor, "positions dim"] | None:
        """What the absolute ones add."""
        return self.absolute.table()

    def rotary_table(self) -> Float[Tensor, "positions size"] | None:
        """As the relative ones."""
        return self.relative.rotary_table()
