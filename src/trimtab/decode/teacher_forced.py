"""The log-probability of each token of a given translation."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types import IGNORE

TOKENS_AT_ONCE = 1024
"""Scores over the whole vocabulary are made for so many tokens at a time."""


@torch.no_grad()
def label_log_probabilities(
    hidden: Float[Tensor, "tokens dim"],
    output_matrix: Float[Tensor, "rows dim"],
    labels: Int[Tensor, "tokens"],
    *,
    num_ids: int,
    logit_cap: float | None = None,
) -> Float[Tensor, "tokens"]:
    """Natural log-probability of each label, float32; 0 where the label does not count.

    Rows of the matrix from `num_ids` on belong to no softmax. `logit_cap` is that of a model that squashes its logits.
    """
    parts = []
    for start in range(0, len(labels), TOKENS_AT_ONCE):
        logits = F.linear(hidden[start : start + TOKENS_AT_ONCE], output_matrix)[:, :num_ids].float()
        if logit_cap is not None:
            logits = logit_cap * torch.tanh(logits / logit_cap)
        chosen = labels[start : start + TOKENS_AT_ONCE]
        found = logits.log_softmax(-1).gather(1, chosen.clamp(min=0)[:, None])[:, 0]
        parts.append(found.masked_fill(chosen == IGNORE, 0.0))
    return torch.cat(parts) if parts else hidden.new_zeros(0, dtype=torch.float32)
