"""What an exported model can do, whichever library runs it."""

from typing import Protocol, runtime_checkable

import torch

from trimtab.flow import DecoderSession, Ragged, Stream


@runtime_checkable
class Engine(Protocol):
    """A model that opens decoding sessions (see `flow.Translates`) and scores translations that are there already."""

    device: torch.device
    """Where it takes ids and gives scores."""

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> DecoderSession:
        """Encodes the source and makes room for `max_length` steps of `rows` × `width` hypotheses."""
        ...

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids, rows in their order."""
        ...
