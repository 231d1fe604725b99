"""Absolute positions in the embeddings together with relative ones in attention."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.model.positions.kind import Positions, RotaryCosSin


class CombinedPositions(Positions):
    """What each of the two does. Source: P-Transformer, Li et al. 2022, arXiv 2212.05830."""

    share: Tensor | None

    def __init__(self, absolute: Positions, relative: Positions) -> None:
        super().__init__()
        self.absolute, self.relative = absolute, relative
        self.register_buffer("share", None)
        """What the absolute ones are multiplied by, where they fade: a part of checkpoints, so that a model computes as
        it did at its step."""

    def embed(
        self, x: Float[Tensor, "tokens dim"], positions: Int[Tensor, "tokens"]
    ) -> Float[Tensor, "tokens dim"]:
        """Adds the absolute ones, or what is left of them."""
        if self.share is None:
            return self.absolute.embed(x, positions)
        return x + self.share.to(x.dtype) * self.absolute.embed(torch.zeros_like(x), positions)

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

    def keep_precision(self, original: Positions) -> None:
        """The share; both kinds keep their own."""
        assert isinstance(original, CombinedPositions), "the module that this one is a copy of"
        self.share = original.share


class Fading:
    """Fades absolute positions out over the first steps of a run."""

    def __init__(self, model: nn.Module, *, over: int) -> None:
        """`over` is the number of steps after which nothing is left of them."""
        self.over = over
        self.positions = [each for each in model.modules() if isinstance(each, CombinedPositions)]

    @torch.no_grad()
    def begin(self, step: int) -> None:
        """Sets the share when so many steps have been taken, where it lies: recorded steps read it there."""
        for each in self.positions:
            assert each.share is not None, "positions that fade"
            each.share.fill_(max(0.0, 1 - step / self.over))


def faded_weights(model: nn.Module) -> set[str]:
    """Names of the weights of absolute positions of which nothing is left: they have no gradient any more."""
    return {
        f"{name}.absolute.{weight}"
        for name, each in model.named_modules()
        if isinstance(each, CombinedPositions) and each.share is not None and not each.share.item()
        for weight, _ in each.absolute.named_parameters()
    }


def enable_fade(model: nn.Module) -> None:
    """Gives all combined positions of a model a share."""
    for each in model.modules():
        if isinstance(each, CombinedPositions):
            each.share = torch.ones(1)
