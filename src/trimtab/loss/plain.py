"""Cross-entropy written out with whole logits: the slow twin that the chunked loss is tested against."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.arguments import described, wrong
from trimtab.loss.terms import Terms
from trimtab.types import IGNORE, LossOutput


def plain_cross_entropy(
    hidden: Float[Tensor, "tokens dim"],
    matrix: Float[Tensor, "rows dim"],
    labels: Int[Tensor, "tokens"],
    terms: Terms,
) -> LossOutput:
    """Summed over the labels that are not IGNORE; only the first `terms.num_ids` rows of the matrix are a vocabulary.

    A label whose error norm is above `terms.truncate_above` is left out of the objective, never out of the loss.

    Sources: label smoothing, arXiv 1512.00567, section 7; z-loss, PaLM, arXiv 2204.02311, section 5; error norm
    truncation with a threshold, arXiv 2310.00840.
    """
    logits = F.linear(hidden, matrix)[:, : terms.num_ids].to(torch.promote_types(hidden.dtype, torch.float32))
    if terms.caps:
        logits = terms.logit_cap * torch.tanh(logits / terms.logit_cap)
    log_z = logits.logsumexp(1)
    counts = labels != IGNORE
    picked = logits.gather(1, labels.clamp(min=0)[:, None]).squeeze(1)
    loss = log_z - picked
    smooth = log_z - logits.mean(1)
    objective = (1 - terms.label_smoothing) * loss + terms.label_smoothing * smooth + terms.z_loss * log_z**2
    kept = counts & (error_norm(logits.detach(), labels) <= terms.truncate_above)
    truncated = (counts & ~kept).sum().to(loss.dtype)
    return LossOutput((objective * kept).sum(), (loss * counts).sum().detach(), truncated)


def error_norm(
    logits: Float[Tensor, "tokens vocabulary"], labels: Int[Tensor, "tokens"]
) -> Float[Tensor, "tokens"]:
    """||softmax(logits) - onehot(label)||, between 0 and sqrt 2; of no meaning where the label is IGNORE."""
    if logits.ndim != 2 or labels.ndim != 1 or len(labels) != len(logits) or labels.is_floating_point():
        raise wrong(
            "error_norm",
            "the labels do not fit the logits",
            got=f"{described(labels)}, for {described(logits)}",
            allowed="logits of shape (tokens, vocabulary), and a whole number for each token",
            fix="flatten both first: logits.flatten(0, 1), labels.flatten()",
        )
    target = F.one_hot(labels.clamp(min=0), logits.shape[1]).to(logits.dtype)
    return torch.linalg.vector_norm(logits.softmax(1) - target, dim=1)
