"""A model whose translations continue a given prefix; the search only sees what follows it.

So neither lengths nor scores nor the blocking of repetitions count the sentences before, and all of them are read at
once, not symbol by symbol. (`forced_prefix` is for what belongs to the translation.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types import DecoderSession, FeedsAtOnce, Stream, Translates


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The context before a sentence."""

    target: Sequence[int] = ()
    """Target ids that its translation continues from, without the start symbol."""
    own_tokens: int
    """Source tokens of the sentence itself, tags and end symbol included."""


class Prefilled:
    """A model with one beginning a row; see `types.Translates`."""

    def __init__(self, model: Translates, given: Sequence[Sequence[int]]) -> None:
        self.model, self.given = model, given

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "PrefilledSession":
        """A session that has read what is given."""
        assert rows == len(self.given)
        session = self.model.open_session(source, rows=rows, width=width, max_length=max_length)
        return PrefilledSession(session, self.given)


class PrefilledSession:
    """A session in which the search's first symbol, the start, stands for all that is given.

    The start symbol and what is given but its last symbol is fed at once, when the search brings the start symbol;
    that last one is then fed in its place.
    """

    def __init__(self, session: DecoderSession, given: Sequence[Sequence[int]]) -> None:
        self.session = session
        self.given: Sequence[Sequence[int]] | None = given

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """As the session, behind what is given."""
        if self.given is not None:
            tokens = self._begin(tokens, self.given)
            self.given = None
        return self.session.step(tokens)

    def _begin(
        self, tokens: Int[Tensor, "rows width"], given: Sequence[Sequence[int]]
    ) -> Int[Tensor, "rows width"]:
        assert isinstance(self.session, FeedsAtOnce), "a session that can be fed several tokens at once"
        start, longest = int(tokens[0, 0]), max(map(len, given))
        whole = [[start] * (longest - len(row)) + [start, *row] for row in given]
        placed = torch.tensor(whole, device=tokens.device)
        skipped = torch.tensor([longest - len(row) for row in given], device=tokens.device)
        self.session.feed(placed[:, :-1], skipped)
        return placed[:, -1:].expand(-1, tokens.shape[1])

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """As the session."""
        self.session.reorder(parents)

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """As the session."""
        self.session.keep(rows)
