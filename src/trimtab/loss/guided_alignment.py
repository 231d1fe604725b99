"""The cross-entropy between one head's attention to the source and given alignments of tokens."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types import TokenLinks

TARGETS_AT_ONCE = 1024
"""Scores over all source tokens of a pack are made for so many target tokens at a time."""
_HIDDEN = -1e30
"""Of tokens of other segments. Finite, so that a padding segment without sources has no NaN."""


def alignment_loss(
    queries: Float[Tensor, "targets size"],
    keys: Float[Tensor, "sources size"],
    links: TokenLinks,
    *,
    target_segments: Int[Tensor, "targets"],
    source_segments: Int[Tensor, "sources"],
) -> Float[Tensor, ""]:
    """Minus the sum over links of weight * log attention, where a target token attends to the sources of its segment
    with softmax(query * key / sqrt(size)); in float32 whatever the precision of the model.

    The weights of the links of one target token add up to 1, so this is a sum over targets. Only the scores of links
    and the logarithm of each softmax's divisor are kept; the backward pass makes the attention again, a piece at a
    time. Source: Garg et al. 2019, arXiv 1909.02074, equation 5, there divided by the number of targets.
    """
    with torch.autocast(queries.device.type, enabled=False):
        queries = queries.float() / queries.shape[1] ** 0.5
        keys = keys.float()
        divisors = _LogDivisors.apply(queries, keys, target_segments, source_segments)
        scores = (queries[links.targets] * keys[links.sources]).sum(1)
        return (links.weights * (divisors[links.targets] - scores)).sum()


class _LogDivisors(torch.autograd.Function):
    """For each query the logarithm of the sum of exp(query * key) over the keys of its segment."""

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, target_segments: Tensor, source_segments: Tensor
    ) -> Tensor:
        parts = [
            _scores(queries, keys, target_segments, source_segments, piece).logsumexp(1)
            for piece in _pieces(len(queries))
        ]
        divisors = torch.cat(parts)
        ctx.save_for_backward(queries, keys, target_segments, source_segments, divisors)
        return divisors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (grad,) = grads
        queries, keys, target_segments, source_segments, divisors = ctx.saved_tensors
        of_queries, of_keys = torch.empty_like(queries), torch.zeros_like(keys)
        with torch.autocast(queries.device.type, enabled=False):
            for piece in _pieces(len(queries)):
                scores = _scores(queries, keys, target_segments, source_segments, piece)
                share = (scores - divisors[piece, None]).exp() * grad[piece, None]
                of_queries[piece] = share @ keys
                of_keys += share.T @ queries[piece]
        return of_queries, of_keys, None, None


def _pieces(count: int) -> list[slice]:
    return [slice(start, start + TARGETS_AT_ONCE) for start in range(0, count, TARGETS_AT_ONCE)]


def _scores(
    queries: Tensor, keys: Tensor, target_segments: Tensor, source_segments: Tensor, piece: slice
) -> Tensor:
    scores = queries[piece] @ keys.T
    return scores.masked_fill(target_segments[piece, None] != source_segments, _HIDDEN)


def plain_alignment_loss(
    queries: Float[Tensor, "targets size"],
    keys: Float[Tensor, "sources size"],
    links: TokenLinks,
    *,
    target_segments: Int[Tensor, "targets"],
    source_segments: Int[Tensor, "sources"],
) -> Float[Tensor, ""]:
    """The same written out, segment by segment: the slow twin."""
    total = queries.new_zeros(())
    attention = torch.zeros(len(queries), len(keys), dtype=queries.dtype)
    for segment in target_segments.unique():
        rows, columns = target_segments == segment, source_segments == segment
        scores = queries[rows] @ keys[columns].T / queries.shape[1] ** 0.5
        attention[rows.nonzero(), columns.nonzero()[:, 0]] = scores.softmax(1)
    for target, source, weight in zip(*(each.tolist() for each in links), strict=True):
        if weight:
            total = total - weight * attention[target, source].log()
    return total
