"""A search over the target ids of a shortlist.

The output layer of a decoder takes a CPU as long as several other layers, since its vocabulary is large, and for one
sentence nearly all of it is of no use. Marian leaves it out in the same way. Source: Jean et al. 2015, arXiv 1412.2007,
section 3.2 (candidate target words).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.decode.hypothesis import Hypothesis
from trimtab.decode.setup import TranslationSetup
from trimtab.types import CutsOutput, DecoderSession, FeedsAtOnce, Stream, Tokenizer, Translates


def shortlisted_setup(
    setup: TranslationSetup, sources: Sequence[Sequence[int]], *, prefixes: Sequence[Sequence[int]]
) -> tuple[TranslationSetup, np.ndarray] | None:
    """The setup that searches a batch in the ids of its shortlist, and these ids: what the search finds is an index of
    them. The special symbols and the `prefixes` are among them. None where nothing is left out.
    """
    assert setup.shortlist is not None
    tokenizer = setup.tokenizer
    special = [tokenizer.pad, tokenizer.unknown, tokenizer.start, tokenizer.end]
    found = setup.shortlist.ids(np.concatenate([np.asarray(row, np.int64) for row in sources]))
    ids = np.union1d(found, [*special, *(id for row in prefixes for id in row)]).astype(np.int64)
    if len(ids) == tokenizer.num_ids:
        return None
    model = ShortModel(setup.model, torch.from_numpy(ids).to(setup.device))
    return replace(setup, model=model, tokenizer=ShortVocabulary(tokenizer, ids), shortlist=None), ids


def short_ids(ids: np.ndarray, row: Sequence[int]) -> list[int]:
    """Where target ids are in a shortlist that has all of them."""
    return np.searchsorted(ids, np.asarray(row, np.int64)).tolist()


def in_full_ids(ids: np.ndarray, hypothesis: Hypothesis) -> Hypothesis:
    """What a search in the ids of a shortlist found, in those of the vocabulary."""
    return replace(hypothesis, ids=ids[np.asarray(hypothesis.ids, np.int64)].tolist())


@dataclass(frozen=True, slots=True)
class ShortModel:
    """A model that knows only the ids of a shortlist; see `types.Translates`."""

    model: Translates
    ids: Int[Tensor, "short"]

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> "ShortSession":
        """Opens a session of the model, whose output layer is cut."""
        session = self.model.open_session(source, rows=rows, width=width, max_length=max_length)
        assert isinstance(session, CutsOutput), "a session whose output can be cut"
        session.cut_output(self.ids)
        return ShortSession(session, self.ids)


@dataclass(frozen=True, slots=True)
class ShortSession:
    """A session of a model with a shortlist; see `types.DecoderSession`. Probabilities are those among its ids."""

    session: DecoderSession
    ids: Int[Tensor, "short"]

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width short"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        return self.session.step(self.ids[tokens])

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what each row begins with."""
        assert isinstance(self.session, FeedsAtOnce), "a session that can be fed several tokens at once"
        self.session.feed(self.ids[tokens], skipped)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        self.session.reorder(parents)

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        self.session.keep(rows)


@dataclass(frozen=True, slots=True)
class ShortVocabulary:
    """A tokenizer whose target ids are those of a shortlist; see `types.Tokenizer`."""

    inner: Tokenizer
    ids: np.ndarray

    @property
    def num_ids(self) -> int:
        """Size of the shortlist."""
        return len(self.ids)

    @property
    def pad(self) -> int:
        """Id of the padding symbol."""
        return self._short(self.inner.pad)

    @property
    def unknown(self) -> int:
        """Id of what has no other."""
        return self._short(self.inner.unknown)

    @property
    def start(self) -> int:
        """Id that a decoder is fed first."""
        return self._short(self.inner.start)

    @property
    def end(self) -> int:
        """Id that ends a text."""
        return self._short(self.inner.end)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line of source text, which has no shortlist."""
        return self.inner.encode(lines)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids of the shortlist."""
        return self.inner.decode([self.ids[np.asarray(row, np.int64)].tolist() for row in rows])

    def _short(self, id: int) -> int:
        return int(np.searchsorted(self.ids, id))
