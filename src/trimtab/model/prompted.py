"""A decoder-only model as generation sees it."""

from trimtab.model.decoder_session import PromptSession
from trimtab.model.kinds import ContinuesTexts
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.prompts import NetworkPrompts
from trimtab.model.module.x_session import UncachedPrompts
from trimtab.model.module.x_transformers import XDecoder


class Prompted:
    """See `decode.continuing.Continues`."""

    def __init__(self, model: ContinuesTexts) -> None:
        self.model = model

    def open_prompts(
        self, *, rows: int, width: int, max_length: int
    ) -> PromptSession | NetworkPrompts | UncachedPrompts:
        """Room for rows of `max_length` slots. These may be more than the model has positions, where a short prompt
        with a long way to go stands beside a long one, to which it is filled up; no text is longer than that."""
        if isinstance(self.model, CausalModule | XDecoder):
            return self.model.open_prompts(rows=rows, width=width)
        return PromptSession(self.model, rows=rows, width=width, prefix=False)
