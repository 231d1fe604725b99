"""Ensembles: averages the models' distributions of the next token at each step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types import CutsOutput, DecoderSession, FeedsAtOnce, Stream, Translates

EnsembleMode = Literal["linear", "log_linear"]


class Ensemble:
    """Models of one vocabulary on one device, as decoding sees a model: see `types.Translates`.

    `linear` averages probabilities, as fairseq does and Sockeye by default: what one model finds likely stays
    possible. `log_linear` averages log-probabilities, as Marian and OpenNMT-py do by default: what one model finds
    unlikely is unlikely. The geometric mean is normalised again, so that scores are log-probabilities in both.
    """

    def __init__(self, models: Sequence[Translates], *, mode: EnsembleMode = "linear") -> None:
        assert models
        self.models = tuple(models)
        self.mode: EnsembleMode = mode

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "EnsembleSession":
        """Opens a session with each model."""
        sessions = [
            model.open_session(source, rows=rows, width=width, max_length=max_length) for model in self.models
        ]
        return EnsembleSession(sessions, self.mode)


@dataclass(slots=True)
class EnsembleSession:
    """A session of each model, all fed the same; see `types.DecoderSession`."""

    sessions: list[DecoderSession]
    mode: EnsembleMode

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """The averaged log-probabilities of the next symbol."""
        scores = torch.stack([session.step(tokens).log_softmax(-1) for session in self.sessions])
        if self.mode == "linear":
            return scores.logsumexp(0) - math.log(len(self.sessions))
        return scores.mean(0).log_softmax(-1)

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Every model begins with the same."""
        for session in self.sessions:
            assert isinstance(session, FeedsAtOnce), "a session that can be fed several tokens at once"
            session.feed(tokens, skipped)

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """The same ids are left in every model."""
        for session in self.sessions:
            assert isinstance(session, CutsOutput), "a session whose output can be cut"
            session.cut_output(ids)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """The same hypotheses continue in every model."""
        for session in self.sessions:
            session.reorder(parents)

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """The same rows continue in every model."""
        for session in self.sessions:
            session.keep(rows)
