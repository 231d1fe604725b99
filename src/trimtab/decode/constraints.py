"""What a search must write and what it may not, besides what its symbols say; None if there is nothing of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.decode.forced_prefix import ForcedPrefix
from trimtab.decode.next_scores import OUT_OF_REACH


@dataclass(slots=True)
class Constraints:
    """A forced prefix for each row, and the size of the n-grams that may not come twice."""

    prefix: ForcedPrefix | None = None
    no_repeat_ngram: int | None = None

    @classmethod
    def of(
        cls,
        prefixes: Sequence[Sequence[int]] | None,
        *,
        no_repeat_ngram: int | None = None,
        device: torch.device,
    ) -> "Constraints | None":
        """The constraints of a batch; None if its search is free."""
        forced = ForcedPrefix.of(prefixes, device=device) if prefixes is not None and any(prefixes) else None
        if forced is None and no_repeat_ngram is None:
            return None
        return cls(forced, no_repeat_ngram)

    def apply(
        self,
        scores: Float[Tensor, "rows width vocabulary"],
        *,
        logits: Float[Tensor, "rows width vocabulary"],
        written: Int[Tensor, "rows width step"],
    ) -> Float[Tensor, "rows width vocabulary"]:
        """The scores of the symbol after what is `written`. What is forced may repeat."""
        if self.no_repeat_ngram is not None:
            scores = block_repeats(scores, written=written, size=self.no_repeat_ngram)
        if self.prefix is not None:
            scores = self.prefix.apply(scores, logits=logits, step=written.shape[-1])
        return scores

    def keep(self, index: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only."""
        if self.prefix is not None:
            self.prefix.keep(index)


def block_repeats(
    scores: Float[Tensor, "rows width vocabulary"],
    *,
    written: Int[Tensor, "rows width length"],
    size: int,
) -> Float[Tensor, "rows width vocabulary"]:
    """The scores of the next symbol, minus infinity where it would make an n-gram of `size` symbols that the
    hypothesis has `written` before. The end symbol is in no n-gram, so a hypothesis can always end.

    Source: Paulus et al. 2017, arXiv 1705.04304, section 2.5, for trigrams.
    """
    if written.shape[-1] < size:
        return scores
    grams = written.unfold(-1, size, 1)
    latest = written[..., written.shape[-1] - size + 1 :]
    begins_again = (grams[..., :-1] == latest[..., None, :]).all(-1)
    bounds = torch.where(begins_again, OUT_OF_REACH, -OUT_OF_REACH).to(scores.dtype)
    return scores.scatter_reduce(-1, grams[..., -1], bounds, reduce="amin")
