"""Protocols of models that a search can decode with, or that search themselves."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types.packed_batch import Stream
from trimtab.types.ragged import Ragged


@runtime_checkable
class DecoderSession(Protocol):
    """A batch of source rows being translated, `width` hypotheses each, with cached keys and values."""

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        ...

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        ...

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        ...


@runtime_checkable
class FeedsAtOnce(Protocol):
    """A session whose hypotheses can begin with tokens that are given."""

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what each row begins with, before any step; its first `skipped` are no tokens."""
        ...


@runtime_checkable
class CutsOutput(Protocol):
    """A session whose output layer can be cut to some ids."""

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """From now on, `step` gives the logits of these ids alone, in this order; what it is fed stays as it is."""
        ...

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """See `DecoderSession`."""
        ...

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """See `DecoderSession`."""
        ...

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """See `DecoderSession`."""
        ...


@runtime_checkable
class Translates(Protocol):
    """A model that can open a decoding session."""

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> DecoderSession:
        """Encodes the source and makes room for `max_length` steps of `rows` × `width` hypotheses."""
        ...


@runtime_checkable
class SearchesItself(Protocol):
    """A model whose library searches by itself and gives no scores of single steps."""

    def search(
        self,
        source: Ragged,
        *,
        limits: Sequence[int],
        beam: int,
        n: int,
        length_penalty: float,
        exact: bool,
    ) -> list[list[tuple[list[int], float]]]:
        """At most `n` translations of each row of source ids, end symbol included, the best first: target ids without
        the end symbol, and the summed natural log-probability with it. The search is that of `decode.beam`, or of
        `decode.greedy` for a beam of 1; `exact` as its `stop`."""
        ...
