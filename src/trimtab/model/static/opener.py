"""A model that opens static sessions."""

import threading
import warnings
import weakref

import torch

from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.session import Session
from trimtab.model.static.recordings import Recordings
from trimtab.model.static.session import StaticSession, shape_of
from trimtab.model.static.session_memory import SessionMemory
from trimtab.types import Stream

OUT_OF_MEMORY = (
    "translation continues without recorded steps, which is slower: there is not enough memory for their caches. "
    "Smaller batches need less. ({})"
)


class StaticOpener:
    """As the model itself, with sessions whose steps are recorded as CUDA graphs on a GPU; see `types.Translates`.

    There is memory for one session. Another one that is opened while it lives, from this thread or another, is a plain
    `Session`.
    """

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        """What is decoded from."""
        self.memory = SessionMemory(model)
        device = model.output_matrix.device
        self.recordings = Recordings(device) if device.type == "cuda" else None
        self.lock = threading.Lock()
        self.tenant: weakref.ref[StaticSession] | None = None
        self.given_up = False
        """Whether there was once not enough memory."""

    def open_session(
        self, source: Stream, *, rows: int, width: int, max_length: int
    ) -> StaticSession | Session:
        """Encodes the source; a hypothesis may grow to `max_length` tokens, at most the model's longest sentence."""
        plain = self.model.open_session(source, rows=rows, width=width, max_length=max_length)
        with self.lock:
            if self.given_up or (self.tenant is not None and self.tenant() is not None):
                return plain
            if not self._reserve(plain, max_length):
                return plain
            launch = self.recordings.launch if self.recordings is not None else (lambda _, step: step())
            session = StaticSession(plain, self.memory, max_length=max_length, launch=launch)
            self.tenant = weakref.ref(session)
        return session

    def _reserve(self, plain: Session, max_length: int) -> bool:
        """Room for all that the session may need, so that the memory stays where it is while it lives."""
        try:
            moved = self.memory.reserve(shape_of(plain, max_length))
        except torch.cuda.OutOfMemoryError as error:
            self.given_up = True
            self.memory.release()
            if self.recordings is not None:
                self.recordings.clear()
            warnings.warn(OUT_OF_MEMORY.format(error), stacklevel=3)
            return False
        if moved and self.recordings is not None:
            self.recordings.clear()
        return True
