"""Cross-entropy written out with whole logits: the slow twin that the chunked loss is tested against."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.flow import IGNORE, LossOutput
from trimtab.loss.terms import Terms


def plain_cross_entropy(
    hidden: Float[Tensor, "tokens dim"],
    matrix: Float[Tensor, "rows dim"],
    labels: Int[Tensor, "tokens"],
    terms: Terms,
) -> LossOutput:
    """Summed over the labels that are not IGNORE; only the first `terms.num_ids` rows of the matrix are a vocabulary.

    Sources: label smoothing, arXiv 1512.00567, section 7; z-loss, PaLM, arXiv 2204.02311, section 5.
    """
    logits = F.linear(hidden, matrix)[:, : terms.num_ids].to(torch.promote_types(hidden.dtype, torch.float32))
    log_z = logits.logsumexp(1)
    counts = labels != IGNORE
    picked = logits.gather(1, labels.clamp(min=0)[:, None]).squeeze(1)
    loss = log_z - picked
    smooth = log_z - logits.mean(1)
    objective = (1 - terms.label_smoothing) * loss + terms.label_smoothing * smooth + terms.z_loss * log_z**2
    return LossOutput((objective * counts).sum(), (loss * counts).sum().detach())
