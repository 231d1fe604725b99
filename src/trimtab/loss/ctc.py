"""Connectionist temporal classification: the probability of a text over all ways in which columns can spell it.

Source: Graves, Fernández, Gomez and Schmidhuber 2006, Connectionist Temporal Classification, ICML, equations 5 to 9.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

BLANK = 0
IMPOSSIBLE = -1e30
"""In place of minus infinity, which has no gradient; exp of it is 0."""


def ctc_losses(
    log_probabilities: Float[Tensor, "columns rows ids"],
    targets: Int[Tensor, "rows longest"],
    *,
    widths: Sequence[int],
    lengths: Sequence[int],
) -> Float[Tensor, "rows"]:
    """Nats of each row: the first `lengths` ids of its targets, from the first `widths` columns; 0 where there are too
    few columns for them, since no text can be learned from that.

    By PyTorch's kernel, whose gradient on a GPU has other bits each time; where deterministic algorithms are asked for,
    by the recursion below.
    """
    if log_probabilities.is_cuda and torch.are_deterministic_algorithms_enabled():
        return ctc_by_recursion(log_probabilities, targets, widths=widths, lengths=lengths)
    return F.ctc_loss(
        log_probabilities.float() if log_probabilities.dtype.itemsize < 4 else log_probabilities,
        targets,
        tuple(widths),
        tuple(lengths),
        blank=BLANK,
        reduction="none",
        zero_infinity=True,
    )


def ctc_by_recursion(
    log_probabilities: Float[Tensor, "columns rows ids"],
    targets: Int[Tensor, "rows longest"],
    *,
    widths: Sequence[int],
    lengths: Sequence[int],
) -> Float[Tensor, "rows"]:
    """The slow twin of the kernel: the forward variables of equation 6, a column at a time, and autograd."""
    rows, longest = targets.shape
    extended = targets.new_full((rows, 2 * longest + 1), BLANK)
    extended[:, 1::2] = targets
    # From one character to the next without a blank, unless both are equal.
    skips = F.pad(extended[:, 2:] != extended[:, :-2], (2, 0)) & (extended != BLANK)
    scores = log_probabilities.gather(2, extended.expand(len(log_probabilities), -1, -1))
    alpha = torch.full_like(scores[0], IMPOSSIBLE)
    alpha = torch.cat([scores[0, :, :2], alpha[:, 2:]], dim=1)
    alphas = [alpha]
    for column in scores[1:]:
        one, two = (F.pad(alpha, (by, -by), value=IMPOSSIBLE) for by in (1, 2))
        two = torch.where(skips, two, IMPOSSIBLE)
        alpha = column + torch.stack([alpha, one, two]).logsumexp(0)
        alphas.append(alpha)
    last = torch.tensor(widths, device=targets.device) - 1
    ends = torch.tensor(lengths, device=targets.device) * 2
    of_row = torch.arange(rows, device=targets.device)
    final = torch.stack(alphas)[last, of_row]
    both = torch.stack([final[of_row, ends], final[of_row, (ends - 1).clamp(min=0)]])
    both = torch.cat([both[:1], torch.where(ends > 0, both[1], IMPOSSIBLE)[None]])
    losses = -both.logsumexp(0)
    return torch.where(losses < -IMPOSSIBLE / 2, losses, losses.new_zeros(()))


def untrained_loss(*, columns: int, length: int, num_ids: int) -> float:
    """Nats of a text by a model that gives each id the same probability in every column: there are
    binomial(columns + length, columns - length) ways to spell a text without equal neighbors."""
    if length > columns:
        return 0.0
    top, bottom = columns + length, columns - length
    ways = math.lgamma(top + 1) - math.lgamma(bottom + 1) - math.lgamma(top - bottom + 1)
    return columns * math.log(num_ids) - ways
