"""What attention does, seen from its queries and keys: its largest logit, and heads that look at one place only."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int32
from torch import Tensor

from trimtab.finding import Finding
from trimtab.run_findings.evaluations import ATTENTION_LOGITS_TOO_LARGE, ATTENTION_SINKS

LARGE_LOGIT, HUGE_LOGIT = 1e3, 1e4
"""Without a norm of queries and keys (Wortsman et al. 2023, arXiv 2309.14322, section 3.1: runs diverge near 1e4)."""
FEWEST_KEYS = 8
"""Among fewer keys, and for earlier queries under a causal mask, one place has a large share in any case."""
SINK_SHARE = 0.9
"""A head that gives this share of its attention, on average, to one place of the row has an attention sink there."""
MOST_SINKS = 0.9
"""Share of a side's heads that may have an attention sink."""


class Attention(NamedTuple):
    """What one attention showed, still on the device."""

    largest: Float[Tensor, ""]
    """Magnitude of the largest logit."""
    share: Float[Tensor, "heads"]
    """Of the attention of each head, what the most looked-at place of a row has; NaN where no row is long enough."""
    received: Float[Tensor, "rows longest"]
    """The share of a row's attention that each place gets, as the mean over heads and the queries that see enough keys;
    0 in rows that are too short."""


@torch.no_grad()
def look_at_attention(
    queries: Float[Tensor, "queries heads size"],
    keys: Float[Tensor, "keys kv_heads size"],
    *,
    of: Int32[Tensor, "segments_and_one"],
    to: Int32[Tensor, "segments_and_one"],
    max_seqlen: tuple[int, int],
    causal: bool,
    bias: Float[Tensor, "*rows heads longest longest"] | None = None,
) -> Attention:
    """Computes the logits of padded rows: the queries `of[i]:of[i + 1]` look at the keys `to[i]:to[i + 1]`.
    `max_seqlen` bounds the lengths on either side; `bias` is what positions add to the logits. Memory grows with the
    square of the lengths, so use a few rows. Nothing waits for the device.
    """
    keys = keys.repeat_interleave(queries.shape[1] // keys.shape[1], dim=1)
    q, q_real = padded(queries, of, max_seqlen[0])
    k, k_real = padded(keys, to, max_seqlen[1])
    logits = torch.einsum("rqhd,rkhd->rhqk", q.float(), k.float()) / math.sqrt(q.shape[-1])
    logits = logits if bias is None else logits + bias
    seen = q_real[:, :, None] & k_real[:, None, :]
    if causal:
        seen = seen & torch.ones(seen.shape[1:], dtype=torch.bool, device=seen.device).tril()
    seen = seen[:, None]
    largest = torch.where(seen, logits.abs(), 0.0).amax()
    weights = torch.where(seen, logits, -torch.inf).softmax(-1)
    counted = seen & (seen.sum(-1, keepdim=True) >= FEWEST_KEYS)
    queries_of_row = counted.any(-1).sum(-1)
    of_place = torch.where(counted, weights, 0.0).sum(2) / queries_of_row[..., None].clamp(min=1)
    judged = (queries_of_row > 0).float()
    share = (of_place.amax(-1) * judged).sum(0) / judged.sum(0)
    return Attention(largest, share, of_place.mean(1))


def padded(
    x: Float[Tensor, "tokens heads size"], cu_seqlens: Int32[Tensor, "rows_and_one"], max_seqlen: int
) -> tuple[Float[Tensor, "rows longest heads size"], Bool[Tensor, "rows longest"]]:
    """The segments as rows, and which of their slots hold a token."""
    slots = torch.arange(max_seqlen, device=x.device)
    real = slots < cu_seqlens.diff()[:, None]
    places = (cu_seqlens[:-1, None] + slots).clamp(max=len(x) - 1)
    return x[places], real


def large_logits(largest: Mapping[str, float]) -> Finding | None:
    """M905 of the attention with the largest logit, where it is out of bounds; NaN is reported elsewhere."""
    name = max(largest, key=lambda each: -1 if math.isnan(largest[each]) else largest[each], default="")
    if not name or not largest[name] > LARGE_LOGIT:
        return None
    huge = largest[name] > HUGE_LOGIT
    return ATTENTION_LOGITS_TOO_LARGE.found(
        f"the largest attention logit is {largest[name]:.4g}, in {name} (bound "
        f"{HUGE_LOGIT if huge else LARGE_LOGIT:g})",
        severity="error" if huge else "warning",
    )


def attention_sinks(shares: Mapping[str, list[float]], *, side: str) -> Finding | None:
    """M906 where almost every head of a side looks at one place of the row, whatever it reads.

    A few such heads are normal, a head's way of doing nothing (Xiao et al. 2023, arXiv 2309.17453).
    """
    heads = [share for each in shares.values() for share in each if not math.isnan(share)]
    with_sink = sum(share > SINK_SHARE for share in heads)
    if not heads or with_sink <= MOST_SINKS * len(heads):
        return None
    return ATTENTION_SINKS.found(
        f"{with_sink} of the {len(heads)} heads of {side} give more than {SINK_SHARE:.0%} of their attention to "
        "one place of each row"
    )


def share_of_sinks(shares: Mapping[str, list[float]]) -> float:
    """The share of all heads that have an attention sink; NaN where none could be judged."""
    heads = [share for each in shares.values() for share in each if not math.isnan(share)]
    return sum(share > SINK_SHARE for share in heads) / len(heads) if heads else math.nan
