"""T5's positions: a trained number for each head and each bucket of distances, added to the scores of attention."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.config.positions import RelativeBias
from trimtab.model.positions.kind import Positions

BUCKETS = RelativeBias.buckets
FARTHEST = 128
"""As in T5 of every size: distances from here on share the last bucket."""


class RelativeBiasPositions(nn.Embedding, Positions):
    """One table for all layers of a side, as in T5. Source: Raffel et al. 2020, arXiv 1910.10683, section 2.1, and
    `_relative_position_bucket` of the authors' code."""

    def __init__(self, *, heads: int, bidirectional: bool) -> None:
        """`bidirectional` gives what comes after a token buckets of its own, as an encoder needs it."""
        super().__init__(BUCKETS, heads)
        self.bidirectional = bidirectional

    def bias(
        self, queries: Int[Tensor, "*rows queries"], keys: Int[Tensor, "*rows keys"]
    ) -> Float[Tensor, "*rows heads queries keys"]:
        """The number of the bucket of each distance, for each head."""
        distance = keys[..., None, :] - queries[..., :, None]
        buckets = relative_buckets(distance, bidirectional=self.bidirectional)
        # Not `weight[buckets]`, whose backward adds up the thousands of places of a bucket one after another on a GPU.
        return F.embedding(buckets, self.weight).movedim(-1, -3)


def relative_buckets(distance: Int[Tensor, "*shape"], *, bidirectional: bool) -> Int[Tensor, "*shape"]:
    """The bucket of each distance, which is the key's position minus the query's.

    Half of the buckets are for one distance each, the others for logarithmically growing ranges. With `bidirectional`
    each direction has half of all; without it, keys after the query, which a causal mask hides, share bucket 0.
    """
    buckets = BUCKETS // 2 if bidirectional else BUCKETS
    later = torch.where(distance > 0, buckets, 0) if bidirectional else torch.zeros_like(distance)
    distance = distance.abs() if bidirectional else (-distance).clamp(min=0)
    exact = buckets // 2
    share = torch.log(distance.clamp(min=1).float() / exact) / math.log(FARTHEST / exact)
    far = (exact + (share * (buckets - exact)).long()).clamp(max=buckets - 1)
    return later + torch.where(distance < exact, distance, far)
