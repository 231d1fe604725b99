"""Where attention goes: to which tokens, and to which part of a text."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor

MOST_TOKENS = 8
"""Tokens of each side that are named, those with most attention first."""
PARTS = 10
"""Parts of equal length that a text is divided into."""


class Vocabulary(NamedTuple):
    """How tokens are spelled, and what separates a line from the sentences before it."""

    source: Callable[[int], str] = str
    target: Callable[[int], str] = str
    separator: int | None = None


IDS = Vocabulary()
"""Tokens as their ids."""


def shares_of_tokens(
    received: Sequence[Float[Tensor, "rows longest"]],
    ids: Int[Tensor, "tokens"],
    cu_seqlens: Int32[Tensor, "rows_and_one"],
    *,
    piece: Callable[[int], str] = str,
) -> dict[str, float]:
    """The share of attention that all tokens of an id get together, averaged over queries, heads and layers; the
    largest ones by the spelling of their token, or by its id where it has none. A token that gets most of it wherever
    it stands, such as the first of a text or its end symbol, is an attention sink (Xiao et al. 2023, arXiv
    2309.17453)."""
    total = mean_of(received)
    if total is None:
        return {}
    lengths = cu_seqlens.diff().long()
    slots = torch.arange(total.shape[1], device=total.device)
    real = slots < lengths[:, None]
    places = (cu_seqlens[:-1, None].long() + slots).clamp(max=len(ids) - 1)
    seen, number = ids[places[real]].unique(return_inverse=True)
    sums = torch.zeros(len(seen), device=total.device).index_add(0, number, total[real].float())
    share, order = (sums / sums.sum().clamp(min=1e-12)).sort(descending=True)
    found: dict[str, float] = {}
    for id, value in zip(seen[order].tolist()[:MOST_TOKENS], share.tolist()[:MOST_TOKENS], strict=True):
        name = piece(id) or str(id)
        found[name] = found.get(name, 0.0) + value  # ids with different factors have the same spelling
    return found


def shares_of_parts(
    received: Sequence[Float[Tensor, "rows longest"]], cu_seqlens: Int32[Tensor, "rows_and_one"]
) -> dict[str, float]:
    """The share of attention on each tenth of a text, from its beginning to its end; a text of fewer tokens counts
    where they stand."""
    total = mean_of(received)
    if total is None:
        return {}
    lengths = cu_seqlens.diff().long()
    slots = torch.arange(total.shape[1], device=total.device)
    real = slots < lengths[:, None]
    part = (slots * PARTS // lengths[:, None].clamp(min=1)).clamp(max=PARTS - 1)
    sums = torch.zeros(PARTS, device=total.device).index_add(0, part[real], total[real].float())
    shares = (sums / sums.sum().clamp(min=1e-12)).tolist()
    return {f"{10 * each} to {10 * each + 10}%": share for each, share in enumerate(shares)}


def mean_of(received: Sequence[Float[Tensor, "rows longest"]]) -> Float[Tensor, "rows longest"] | None:
    """The mean over layers; None where there is nothing to look at."""
    if not received:
        return None
    total = torch.stack([*received]).float().mean(0)
    return total if bool(total.sum() > 0) else None


def named(shares: Mapping[str, float], side: str) -> dict[str, float]:
    """The shares with the side of the model before their names."""
    return {f"{side}: {name}": share for name, share in shares.items()}
