"""Learned positions: a trained vector for each position, added to the embeddings."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.model.positions.kind import Positions


class LearnedPositions(nn.Embedding, Positions):
    """A table of weights; its name in a checkpoint ends with `positions.weight`."""

    def __init__(self, *, num_positions: int, dim: int, scale: float) -> None:
        """`scale` is what a vector is multiplied by before it is added, as the embeddings are."""
        super().__init__(num_positions, dim)
        self.scale = scale

    def embed(
        self, x: Float[Tensor, "tokens dim"], positions: Int[Tensor, "tokens"]
    ) -> Float[Tensor, "tokens dim"]:
        """Adds the vector of each position."""
        return x + self._scaled(self(positions))

    def table(self) -> Float[Tensor, "positions dim"]:
        """The vectors at their scale."""
        return self._scaled(self.weight)

    def _scaled(self, vectors: Tensor) -> Tensor:
        return vectors if self.scale == 1 else vectors * self.scale
