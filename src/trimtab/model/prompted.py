"""A decoder-only model as generation sees it."""

from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.decoder_session import PromptSession


class Prompted:
    """See `decode.continuing.Continues`."""

    def __init__(self, model: DecoderOnly) -> None:
        self.model = model

    def open_prompts(self, *, rows: int, width: int, max_length: int) -> PromptSession:
        """Room for rows of `max_length` slots. These may be more than the model has positions, where a short prompt
        with a long way to go stands beside a long one, to which it is filled up; no text is longer than that."""
        return PromptSession(self.model, rows=rows, width=width, prefix=False)
