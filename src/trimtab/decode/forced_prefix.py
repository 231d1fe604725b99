"""Forces translations to begin with given tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.decode.next_scores import OUT_OF_REACH

_NOTHING = -1
_FLOOR = -1e30
"""A forced symbol is taken even where the model gives it a probability of zero."""


@dataclass(slots=True)
class ForcedPrefix:
    """The symbols that each row begins with, on the device."""

    ids: Int[Tensor, "rows places"]
    """Filled behind each prefix with a number that is no id."""

    @classmethod
    def of(cls, prefixes: Sequence[Sequence[int]], *, device: torch.device) -> "ForcedPrefix":
        """One prefix a row, without start and end symbols; an empty one forces nothing."""
        longest = max(map(len, prefixes), default=0)
        filled = [[*prefix, *[_NOTHING] * (longest - len(prefix))] for prefix in prefixes]
        return cls(torch.tensor(filled, device=device, dtype=torch.long).view(len(prefixes), longest))

    def apply(
        self,
        scores: Float[Tensor, "rows width vocabulary"],
        *,
        logits: Float[Tensor, "rows width vocabulary"],
        step: int,
    ) -> Float[Tensor, "rows width vocabulary"]:
        """The scores of symbol number `step`, in which only the forced one can be reached, at the model's own
        log-probability; a symbol that is suppressed elsewhere may be forced. Rows beyond their prefix stay as they are.
        """
        if step >= self.ids.shape[1]:
            return scores
        forced = self.ids[:, step, None, None].expand(-1, scores.shape[1], 1)
        own = logits.log_softmax(-1).gather(-1, forced.clamp(min=0)).clamp(min=_FLOOR)
        only = torch.full_like(scores, OUT_OF_REACH).scatter(-1, forced.clamp(min=0), own)
        return torch.where(forced != _NOTHING, only, scores)

    def keep(self, index: Int[Tensor, "kept"]) -> None:
        """Goes on with these rows only."""
        self.ids = self.ids[index]
