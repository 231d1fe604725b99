"""The cross-entropy between one head's attention to the source and given alignments of tokens."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int32
from torch import Tensor

from trimtab.gpu.triton_runs import triton_runs_on
from trimtab.types import Stream, TokenLinks

ROWS_AT_ONCE = 128
"""Without Triton, scores are made for so many target tokens at a time, over the sources of their segments."""
_HIDDEN = -1e30
"""Of tokens of other segments. Finite, so that a padding segment without sources has no NaN."""


def alignment_loss(
    queries: Float[Tensor, "targets size"],
    keys: Float[Tensor, "sources size"],
    links: TokenLinks,
    *,
    target: Stream,
    source: Stream,
) -> Float[Tensor, ""]:
    """Minus the sum over links of weight * log attention, where a target token attends to the sources of its segment
    with softmax(query * key / sqrt(size)); in float32 whatever the precision of the model.

    The weights of the links of one target token add up to 1, so this is a sum over targets. Only the scores of links
    and the logarithm of each softmax's divisor are kept; the backward pass makes the attention again. A token meets
    the other side's tokens of its own segment, and where tiles hold several segments, those beside it.
    Source: Garg et al. 2019, arXiv 1909.02074, equation 5, there divided by the number of targets.
    """
    with torch.autocast(queries.device.type, enabled=False):
        met = Met(tokens_met(target, source), tokens_met(source, target))
        scale = queries.shape[1] ** -0.5
        # Both at once, so that the two parts of a gradient, which nearly cancel, are added before they are rounded.
        queries, keys = queries.float(), keys.float()
        divisors = _LogDivisors.apply(queries, keys, met, scale)
        linked = queries.index_select(0, links.targets) * keys.index_select(0, links.sources)
        scores = linked.sum(1) * scale
        return (links.weights * (divisors.index_select(0, links.targets) - scores)).sum()


class Met(NamedTuple):
    """Which tokens of the other stream each token meets: those of its segment, from the first to before the last."""

    of_targets: Int32[Tensor, "2 targets"]
    of_sources: Int32[Tensor, "2 sources"]


def tokens_met(of: Stream, to: Stream) -> Int32[Tensor, "2 tokens"]:
    """For each token where its segment begins and ends in the other stream."""
    return torch.stack([to.cu_seqlens[:-1], to.cu_seqlens[1:]]).index_select(1, of.segments.to(torch.int32))


class _LogDivisors(torch.autograd.Function):
    """For each query the logarithm of the sum of exp(scale * query * key) over the keys of its segment."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, met: Met, scale: float) -> Tensor:
        if triton_runs_on(queries.device):
            from trimtab.loss.divisor_kernels import log_divisors  # late: needs Triton
        else:
            log_divisors = log_divisors_in_pieces
        divisors = log_divisors(queries, keys, met.of_targets, scale=scale)
        ctx.scale = scale
        ctx.save_for_backward(queries, keys, *met, divisors)
        return divisors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        queries, keys, of_targets, of_sources, divisors = ctx.saved_tensors
        if triton_runs_on(queries.device):
            from trimtab.loss.divisor_kernels import weighted_sums  # late: needs Triton
        else:
            weighted_sums = weighted_sums_in_pieces
        words = {"scale": ctx.scale, "divisors": divisors, "grad": grads[0].contiguous()}
        with torch.autocast(queries.device.type, enabled=False):
            of_queries = weighted_sums(queries, keys, of_targets, **words, of_keys=False)
            of_keys = weighted_sums(keys, queries, of_sources, **words, of_keys=True)
        return of_queries, of_keys, None, None


def log_divisors_in_pieces(
    queries: Float[Tensor, "rows size"],
    keys: Float[Tensor, "columns size"],
    met: Int32[Tensor, "2 rows"],
    *,
    scale: float,
) -> Float[Tensor, "rows"]:
    """`divisor_kernels.log_divisors` on any device."""
    parts = [
        _scores(queries, keys, met, piece, scale=scale).logsumexp(1) for piece in _pieces(met, len(keys))
    ]
    return torch.cat(parts).where(met[0] < met[1], 0.0)


def weighted_sums_in_pieces(
    rows: Float[Tensor, "rows size"],
    columns: Float[Tensor, "columns size"],
    met: Int32[Tensor, "2 rows"],
    *,
    scale: float,
    divisors: Float[Tensor, "queries"],
    grad: Float[Tensor, "queries"],
    of_keys: bool,
) -> Float[Tensor, "rows size"]:
    """`divisor_kernels.weighted_sums` on any device."""
    found = torch.empty(rows.shape, dtype=torch.float32, device=rows.device)
    for piece in _pieces(met, len(columns)):
        scores = _scores(rows, columns, met, piece, scale=scale)
        if of_keys:
            shares = (scores - divisors[None, piece.columns]).exp() * grad[None, piece.columns]
        else:
            shares = (scores - divisors[piece.rows, None]).exp() * grad[piece.rows, None]
        found[piece.rows] = scale * (shares @ columns[piece.columns].float())
    return found


class _Piece(NamedTuple):
    """Some rows of the scores, and the columns that they meet."""

    rows: slice
    columns: slice


def _pieces(met: Tensor, num_columns: int) -> list[_Piece]:
    """On a CPU only the columns of the segments at hand; a GPU would have to be waited for to know them."""
    rows = [slice(start, start + ROWS_AT_ONCE) for start in range(0, met.shape[1], ROWS_AT_ONCE)]
    if met.device.type != "cpu":
        return [_Piece(each, slice(0, num_columns)) for each in rows]
    return [_Piece(each, slice(int(met[0, each][0]), int(met[1, each][-1]))) for each in rows]


def _scores(rows: Tensor, columns: Tensor, met: Tensor, piece: _Piece, *, scale: float) -> Tensor:
    """Of a piece, those of other segments hidden."""
    scores = scale * (rows[piece.rows].float() @ columns[piece.columns].float().T)
    low, high = met[:, piece.rows, None]
    places = torch.arange(piece.columns.start, piece.columns.stop, device=met.device)
    return scores.masked_fill((places < low) | (places >= high), _HIDDEN)


def plain_alignment_loss(
    queries: Float[Tensor, "targets size"],
    keys: Float[Tensor, "sources size"],
    links: TokenLinks,
    *,
    target: Stream,
    source: Stream,
) -> Float[Tensor, ""]:
    """The same written out, segment by segment: the slow twin."""
    total = queries.new_zeros(())
    attention = torch.zeros(len(queries), len(keys), dtype=queries.dtype)
    for segment in target.segments.unique():
        rows, columns = target.segments == segment, source.segments == segment
        scores = queries[rows] @ keys[columns].T / queries.shape[1] ** 0.5
        attention[rows.nonzero(), columns.nonzero()[:, 0]] = scores.softmax(1)
    for target, source, weight in zip(*(each.tolist() for each in links), strict=True):
        if weight:
            total = total - weight * attention[target, source].log()
    return total
