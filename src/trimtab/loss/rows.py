"""The softmax of each token over logits that come in pieces: its sums, and in place of the logits their gradient.

The slow twin of `row_kernels`, for every device and precision.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.loss.terms import Terms
from trimtab.types import IGNORE, LossOutput

Sums = Float[Tensor, "5 tokens"]
"""For each token the largest logit, the sums of e^(x - largest) and of its square, the sum of the logits, and the
label's logit."""


class RowFunctions(NamedTuple):
    """Both functions, as they are here or faster."""

    add_to_sums: Callable[..., None]
    """Takes a piece of the logits into the sums of its tokens."""
    to_gradient: Callable[..., None]
    """Puts the gradient in place of a piece of the logits."""


def no_sums(tokens: int, *, like: Tensor) -> Sums:
    """Sums over no logits yet, in float32 or wider."""
    sums = torch.zeros(5, tokens, dtype=torch.promote_types(like.dtype, torch.float32), device=like.device)
    sums[0] = -math.inf
    return sums


def add_to_sums(
    logits: Float[Tensor, "tokens rows"],
    labels: Int[Tensor, "tokens"],
    sums: Sums,
    *,
    first_row: int,
    terms: Terms,
) -> None:
    """Takes a piece of the logits into the sums, which are changed in place; the piece begins at a row of the matrix.

    Source: online softmax, Milakov and Gimelshein 2018, arXiv 1805.02867, algorithm 3.
    """
    wide = logits[:, : max(0, terms.num_ids - first_row)].to(sums.dtype)
    if not wide.shape[1]:
        return
    if terms.caps:
        wide = capped(wide, terms)
    largest, total, squares, plain, picked = sums
    larger = torch.maximum(largest, wide.amax(1))
    shrink = (largest - larger).exp_()
    powers = (wide - larger[:, None]).exp_()
    total.mul_(shrink).add_(powers.sum(1))
    if terms.truncates:
        squares.mul_(shrink.square()).add_(powers.square().sum(1))
    if terms.label_smoothing:
        plain += wide.sum(1)
    place, here = places(labels, first_row, wide.shape[1])
    picked += torch.where(here, wide.gather(1, place[:, None])[:, 0], 0)
    largest.copy_(larger)


def to_gradient(
    logits: Float[Tensor, "tokens rows"],
    labels: Int[Tensor, "tokens"],
    sums: Sums,
    *,
    first_row: int,
    terms: Terms,
) -> None:
    """Puts in place of the logits the gradient of the summed objective by them, once the sums are whole.

    With p the softmax over the vocabulary it is p (1 + 2 z log Z) - (1 - s) onehot(label) - s / num_ids, and zero for
    rows that stand for nothing and for tokens that do not count.
    """
    columns = max(0, terms.num_ids - first_row)
    logits[:, columns:] = 0
    part = place_of_part = logits[:, :columns]
    if not part.shape[1]:
        return
    log_z, keeps = log_partition(sums), kept(labels, sums, terms)
    slope: Tensor | None = None
    if terms.caps:
        squashed = capped(part.to(sums.dtype), terms)
        slope = 1 - (squashed / terms.logit_cap).square_()
        part = squashed
    # Few passes over the logits are most of what the loss costs outside the products: an infinite partition makes a
    # row's probabilities zero without one.
    shift = log_z.masked_fill(~keeps, math.inf)[:, None]
    gradient = part.sub_(shift) if part.dtype == sums.dtype else part - shift
    gradient.exp_()
    if terms.z_loss:
        gradient *= (1 + 2 * terms.z_loss * log_z)[:, None]
    if terms.label_smoothing:
        gradient -= (keeps.to(gradient.dtype) * (terms.label_smoothing / terms.num_ids))[:, None]
    place, here = places(labels, first_row, part.shape[1])
    lines = torch.arange(len(place), device=place.device)
    gradient[lines, place] -= (here & keeps).to(gradient.dtype) * (1 - terms.label_smoothing)
    if slope is not None:
        gradient *= slope
    if gradient is not place_of_part:
        place_of_part.copy_(gradient)


def capped(logits: Float[Tensor, "tokens rows"], terms: Terms) -> Float[Tensor, "tokens rows"]:
    """Logits that are squashed to the cap of the terms."""
    return (logits / terms.logit_cap).tanh_().mul_(terms.logit_cap)


def loss_output(labels: Int[Tensor, "tokens"], sums: Sums, terms: Terms) -> LossOutput:
    """Objective, loss and number of truncated labels, once the sums are whole."""
    _, _, _, plain, picked = sums
    log_z, counts = log_partition(sums), labels != IGNORE
    loss = log_z - picked
    smooth = log_z - plain / terms.num_ids
    objective = (1 - terms.label_smoothing) * loss + terms.label_smoothing * smooth + terms.z_loss * log_z**2
    keeps = kept(labels, sums, terms)
    return LossOutput(
        torch.where(keeps, objective, 0).sum(),
        torch.where(counts, loss, 0).sum(),
        (counts & ~keeps).sum().to(sums.dtype),
    )


def kept(labels: Int[Tensor, "tokens"], sums: Sums, terms: Terms) -> Bool[Tensor, "tokens"]:
    """Which labels count in the objective: all but those whose error norm ||p - onehot(label)|| is too large.

    It is sqrt(||p||² - 2 p(label) + 1), which needs no second pass over the logits. Source: arXiv 2310.00840.
    """
    counts = labels != IGNORE
    if not terms.truncates:
        return counts
    largest, total, squares, _, picked = sums
    square = squares / total.square() - 2 * (picked - largest).exp() / total + 1
    return counts & (square.clamp(min=0).sqrt() <= terms.truncate_above)


def log_partition(sums: Sums) -> Float[Tensor, "tokens"]:
    """log Z of each token."""
    return sums[0] + sums[1].log()


def places(
    labels: Int[Tensor, "tokens"], first_row: int, rows: int
) -> tuple[Int[Tensor, "tokens"], Bool[Tensor, "tokens"]]:
    """Where in a piece each label lies, and whether it does; some place in it for the others."""
    inside = labels - first_row
    return inside.clamp(0, rows - 1), (inside >= 0) & (inside < rows)


PLAIN = RowFunctions(add_to_sums, to_gradient)
