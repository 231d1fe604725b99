"""A decoder-only model as generation sees it."""

from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.decoder_session import PromptSession


class Prompted:
    """See `decode.continuing.Continues`."""

    def __init__(self, model: DecoderOnly) -> None:
        self.model = model

    def open_prompts(self, *, rows: int, width: int, max_length: int) -> PromptSession:
        """Room for texts of `max_length` tokens, at most the model's longest."""
        assert max_length <= self.model.max_positions, (max_length, self.model.max_positions)
        return PromptSession(self.model, rows=rows, width=width)
