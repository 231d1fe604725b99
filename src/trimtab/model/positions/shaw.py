"""Shaw's positions: trained vectors for clipped distances, added to the keys and to the values of each pair of tokens.

Source: Shaw et al. 2018, arXiv 1803.02155, equations 3 to 5. Each layer has its own vectors, which its heads share.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.positions import PositionSettings, RelativeVectors, parts_of
from trimtab.model.positions.kind import Positions

FARTHEST = RelativeVectors.farthest


class ShawPositions(Positions):
    """The distances; the vectors are in the layers, see `DistanceVectors`."""

    def __init__(self, *, bidirectional: bool) -> None:
        """`bidirectional` gives what comes after a token vectors of its own, as an encoder needs them."""
        super().__init__()
        self.bidirectional = bidirectional

    def distances(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Int[Tensor, "*rows queries keys"]:
        """Key's position minus the query's, clipped, counted from the farthest one before the query."""
        distance = keys[..., None, :] - queries[..., :, None]
        return distance.clamp(-FARTHEST, FARTHEST if self.bidirectional else 0) + FARTHEST


class Relative(NamedTuple):
    """What one layer adds to keys and values by distance."""

    keys: Float[Tensor, "distances size"]
    values: Float[Tensor, "distances size"]
    rows: Int[Tensor, "*rows queries keys"]
    """Which of them for each pair of tokens."""


class DistanceVectors(nn.Module):
    """The vectors of one layer."""

    def __init__(self, *, size: int, bidirectional: bool) -> None:
        """`size` is that of a head."""
        super().__init__()
        rows = RelativeVectors.rows(bidirectional=bidirectional)
        self.keys, self.values = nn.Embedding(rows, size), nn.Embedding(rows, size)

    def at(self, distances: Int[Tensor, "*rows queries keys"]) -> Relative:
        """With the rows for pairs of tokens."""
        return Relative(self.keys.weight, self.values.weight, distances)


def distance_vectors(settings: PositionSettings, *, size: int, bidirectional: bool) -> DistanceVectors | None:
    """Those that positions ask a layer for; None where they ask for none."""
    if not any(isinstance(each, RelativeVectors) for each in parts_of(settings)):
        return None
    return DistanceVectors(size=size, bidirectional=bidirectional)


def attend_biased(
    queries: Float[Tensor, "*rows queries size"],
    keys: Float[Tensor, "*rows keys size"],
    values: Float[Tensor, "*rows keys size"],
    *,
    seen: Tensor | None,
    bias: Tensor | Relative | None,
) -> Float[Tensor, "*rows queries size"]:
    """Attention with what positions add. `seen` is True for keys that a query sees, all of them where it is None, or
    with no bias the mask that scaled_dot_product_attention takes; the axis before the queries is that of the heads,
    which share `Relative` vectors."""
    match bias:
        case None:
            return F.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
        case Tensor():
            bias = bias.to(queries.dtype)
            hidden = bias if seen is None else bias.masked_fill(~seen, -torch.inf)
            return F.scaled_dot_product_attention(queries, keys, values, attn_mask=hidden)
        case Relative():
            return _attend_relative(queries, keys, values, seen=seen, relative=bias)


def _attend_relative(
    queries: Tensor, keys: Tensor, values: Tensor, *, seen: Tensor | None, relative: Relative
) -> Tensor:
    """No vector is made for each pair: products with the few vectors are gathered, and weights are summed by distance
    (section 3.3 of the paper)."""
    scores = queries @ keys.mT * queries.shape[-1] ** -0.5 + scores_by_distance(queries, relative)
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(values.dtype)
    by_distance = weights.new_zeros(*weights.shape[:-1], len(relative.values))
    by_distance = by_distance.scatter_add(-1, _rows_for(weights, relative), weights)
    return weights @ values + by_distance @ relative.values.to(values.dtype)


def scores_by_distance(
    queries: Float[Tensor, "*rows queries size"], relative: Relative
) -> Float[Tensor, "*rows queries keys"]:
    """What the vectors of the keys add to the scores."""
    found = queries @ relative.keys.to(queries.dtype).mT * queries.shape[-1] ** -0.5
    return found.gather(-1, _rows_for(found, relative))


def _rows_for(x: Tensor, relative: Relative) -> Tensor:
    """The rows for each query of `x`, `*rows queries any`."""
    return relative.rows.unsqueeze(-3).expand(*x.shape[:-1], relative.rows.shape[-1])
