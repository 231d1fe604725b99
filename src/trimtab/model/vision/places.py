"""How a vision transformer knows where a patch is: by its row and column, counted from the corner of its own image."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class LearnedPlaces(nn.Module):
    """A trained vector for each place of a grid. Source: ViT, arXiv 2010.11929, section 3.1."""

    def __init__(self, rows: int, columns: int, dim: int) -> None:
        super().__init__()
        self.columns = columns
        self.grid = nn.Embedding(rows * columns, dim)

    def forward(
        self, rows: Int[Tensor, "patches"], columns: Int[Tensor, "patches"]
    ) -> Float[Tensor, "patches dim"]:
        """The vector of each place."""
        return self.grid(rows * self.columns + columns)


class FactorisedPlaces(nn.Module):
    """The sum of a trained vector for the row and one for the column. Source: NaViT, arXiv 2307.06304, section 2.1."""

    def __init__(self, rows: int, columns: int, dim: int) -> None:
        super().__init__()
        self.rows = nn.Embedding(rows, dim)
        self.columns = nn.Embedding(columns, dim)

    def forward(
        self, rows: Int[Tensor, "patches"], columns: Int[Tensor, "patches"]
    ) -> Float[Tensor, "patches dim"]:
        """The vector of each place."""
        return self.rows(rows) + self.columns(columns)


class SinusoidalPlaces(nn.Module):
    """Fixed sines and cosines of the row in one half of the vector and of the column in the other, with wavelengths as
    in arXiv 1706.03762, section 3.5; scaled to the size of the vectors that are learned otherwise."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(
        self, rows: Int[Tensor, "patches"], columns: Int[Tensor, "patches"]
    ) -> Float[Tensor, "patches dim"]:
        """The vector of each place."""
        quarter = self.dim // 4
        # Made again for each call and not kept as a buffer, which a copy of the model in half precision would round.
        angles = 10000.0 ** -(torch.arange(quarter, device=rows.device) / quarter)
        turned = [each[:, None] * angles for each in (rows, columns)]
        return torch.cat([part for each in turned for part in (each.sin(), each.cos())], dim=1)


def build_places(
    kind: Literal["learned", "factorised", "sinusoidal"], *, rows: int, columns: int, dim: int
) -> LearnedPlaces | FactorisedPlaces | SinusoidalPlaces:
    """The positions of a recipe, for grids of at most so many rows and columns."""
    match kind:
        case "learned":
            return LearnedPlaces(rows, columns, dim)
        case "factorised":
            return FactorisedPlaces(rows, columns, dim)
        case "sinusoidal":
            return SinusoidalPlaces(dim)


PLACE_STD = 0.5
"""Of the vectors of places beside patches, whose numbers have a standard deviation near 1."""


def place_std(kind: str) -> float:
    """The standard deviation of the trained vectors, so that their sum has that of one."""
    return PLACE_STD / math.sqrt(2) if kind == "factorised" else PLACE_STD
