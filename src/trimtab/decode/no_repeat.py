"""No n-gram twice in one translation: the symbol that would end one again is put out of reach."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.decode.next_scores import OUT_OF_REACH


def block_repeats(
    scores: Float[Tensor, "rows width vocabulary"],
    *,
    written: Int[Tensor, "rows width length"],
    size: int,
) -> Float[Tensor, "rows width vocabulary"]:
    """The scores of the next symbol, minus infinity where it would make an n-gram of `size` symbols that the
    hypothesis has `written` before. The end symbol stands in no n-gram, so a hypothesis can always end.

    Source: Paulus et al. 2017, arXiv 1705.04304, section 2.5, for trigrams.
    """
    if written.shape[-1] < size:
        return scores
    grams = written.unfold(-1, size, 1)
    latest = written[..., written.shape[-1] - size + 1 :]
    begins_again = (grams[..., :-1] == latest[..., None, :]).all(-1)
    bounds = torch.where(begins_again, OUT_OF_REACH, -OUT_OF_REACH).to(scores.dtype)
    return scores.scatter_reduce(-1, grams[..., -1], bounds, reduce="amin")
