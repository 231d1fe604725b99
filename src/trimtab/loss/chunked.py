"""Cross-entropy that never holds the whole logits: a chunk of tokens at a time, its gradient made in the same pass."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.flow import IGNORE, LossOutput
from trimtab.loss.terms import Terms

CHUNK_BYTES = 64 * 2**20
"""What of the logits is alive at once where nobody says otherwise."""


def chunked_cross_entropy(
    hidden: Float[Tensor, "tokens dim"],
    matrix: Float[Tensor, "rows dim"],
    labels: Int[Tensor, "tokens"],
    terms: Terms,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    of_chunk: "Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]] | None" = None,
) -> LossOutput:
    """The same numbers as `plain_cross_entropy`, with at most about `chunk_bytes` of logits alive at once.

    Both gradients are computed in the forward pass, since the logits are there then, and scaled in the backward pass;
    so the loss must enter the objective by multiplication with a number, as a sum over micro-batches does.
    `of_chunk` replaces `loss_of_chunk`, for instance by its compiled form. Under autocast the products run in its
    precision, the softmax and the sums in float32.
    """
    objective, loss, truncated = ChunkedCrossEntropy.apply(
        hidden, matrix, labels, terms, chunk_bytes, of_chunk or loss_of_chunk
    )
    return LossOutput(objective, loss, truncated)


def loss_of_chunk(
    logits: Float[Tensor, "tokens rows"],
    labels: Int[Tensor, "tokens"],
    num_ids: int,
    smoothing: float,
    z_loss: float,
    truncate_above: float = math.inf,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, "tokens rows"]]:
    """Summed objective, summed loss, how many labels were truncated, and the objective's gradient by the logits in the
    logits' own precision.

    With p the softmax over the vocabulary, the gradient of a token is
    p (1 + 2 z log Z) - (1 - s) onehot(label) - s / num_ids, and zero for rows that stand for nothing and for tokens
    that do not count.
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    wide[:, num_ids:] = -torch.inf
    counts = labels != IGNORE
    places = labels.clamp(min=0)[:, None]
    log_p = wide.log_softmax(1)
    log_z = wide[:, :1] - log_p[:, :1]
    loss = -log_p.gather(1, places)
    smooth = -log_p[:, :num_ids].sum(1, keepdim=True) / num_ids
    objective = (1 - smoothing) * loss + smoothing * smooth + z_loss * log_z**2
    # In place from here on: these few passes over the logits are most of what the loss costs outside the products.
    gradient = log_p.exp_()
    kept, truncated = counts, wide.new_zeros(())
    if truncate_above < math.inf:
        kept = counts & (error_norm(gradient, places) <= truncate_above)
        truncated = (counts & ~kept).sum().to(wide.dtype)
    if z_loss:
        gradient *= 1 + 2 * z_loss * log_z
    if smoothing:
        gradient[:, :num_ids] -= smoothing / num_ids
    gradient.scatter_add_(1, places, torch.full_like(log_z, smoothing - 1))
    gradient *= kept[:, None]
    whole, plain = (objective[:, 0] * kept).sum(), (loss[:, 0] * counts).sum()
    return whole, plain, truncated, gradient.to(logits.dtype)


def error_norm(p: Float[Tensor, "tokens rows"], places: Int[Tensor, "tokens 1"]) -> Float[Tensor, "tokens"]:
    """||p - onehot(label)|| as sqrt(||p||² - 2 p(label) + 1), which needs no second matrix."""
    square = torch.linalg.vector_norm(p, dim=1).square() - 2 * p.gather(1, places)[:, 0] + 1
    return square.clamp(min=0).sqrt()


class ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and gradients together; the backward pass only scales."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        matrix: Tensor,
        labels: Tensor,
        terms: Terms,
        chunk_bytes: int,
        of_chunk: Callable,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Summed objective, loss and truncated labels; keeps the objective's gradients for the backward pass."""
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        wide = torch.promote_types(hidden.dtype, torch.float32)
        narrow_hidden, narrow_matrix = hidden.to(dtype), matrix.to(dtype)
        by_hidden = torch.empty_like(hidden)
        by_matrix = torch.zeros(matrix.shape, dtype=wide, device=matrix.device)
        objective = torch.zeros((), dtype=wide, device=hidden.device)
        loss, truncated = torch.zeros_like(objective), torch.zeros_like(objective)
        chunk = max(1, chunk_bytes // (len(matrix) * 4))
        # Autocast is off inside: the operands have their precision already, and the sums must keep theirs.
        with torch.autocast(device, enabled=False):
            for start in range(0, len(labels), chunk):
                part = slice(start, start + chunk)
                logits = narrow_hidden[part] @ narrow_matrix.T
                objective_part, loss_part, truncated_part, gradient = of_chunk(logits, labels[part], *terms)
                objective += objective_part
                loss += loss_part
                truncated += truncated_part
                by_hidden[part] = gradient @ narrow_matrix
                accumulate_product(by_matrix, gradient.T, narrow_hidden[part])
        ctx.save_for_backward(by_hidden, by_matrix)
        ctx.mark_non_differentiable(loss, truncated)
        return objective, loss, truncated

    @staticmethod
    def backward(ctx: Any, scale: Tensor, *_: Tensor | None) -> tuple:
        """The kept gradients times the objective's own."""
        by_hidden, by_matrix = ctx.saved_tensors
        # By addition to zero rather than in place: a retained graph may come here again.
        return by_hidden * scale.to(by_hidden.dtype), by_matrix * scale, None, None, None, None


def accumulate_product(
    total: Float[Tensor, "rows dim"], left: Float[Tensor, "rows tokens"], right: Float[Tensor, "tokens dim"]
) -> None:
    """Adds `left @ right` to a total of wider precision."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
