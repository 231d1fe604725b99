"""Merges decoding sessions, so that rows can join a running batch.

A row that begins later has fewer keys and values behind it; the slots that it lacks stand empty before them, and a mask
hides them. So one step of the model serves rows of different ages, and every row reads what it would read alone.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.types import DecoderSession, FeedsAtOnce


@runtime_checkable
class JoinableSession(Protocol):
    """A session whose memory lies open; `caches` have `keys`, `values`, `source_keys` and `source_values`, each with
    rows, heads, slots and sizes as its dimensions."""

    rows: int
    width: int
    past: int
    """Slots of every cache."""
    real: Bool[Tensor, "rows 1 1 source"]
    """Which tokens of the padded sources there are."""
    skipped: Int[Tensor, "hypotheses"] | None
    """Slots at the beginning that hold nothing, for each hypothesis; None if every slot holds a token."""
    caches: Sequence[Any]

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """See `types.DecoderSession`."""
        ...

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """See `types.DecoderSession`."""
        ...

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """See `types.DecoderSession`."""
        ...


def join(running: JoinableSession, new: JoinableSession) -> None:
    """Puts the rows of `new` behind those of `running`; `new` is of no use any more."""
    past = max(running.past, new.past)
    source = max(running.real.shape[-1], new.real.shape[-1])
    parts = [_widened(session, past=past, source=source) for session in (running, new)]
    running.real, running.skipped = (torch.cat([part[place] for part in parts]) for place in (0, 1))
    for cache, other in zip(running.caches, new.caches, strict=True):
        for name in ("keys", "values", "source_keys", "source_values"):
            setattr(cache, name, torch.cat([getattr(cache, name), getattr(other, name)]))
    running.rows, running.past = running.rows + new.rows, past


def trim(session: JoinableSession) -> None:
    """Drops the slots that are empty for all rows, as they are once the oldest rows are gone."""
    source = int(session.real.sum(-1).max())
    unused = 0 if session.skipped is None else int(session.skipped.min())
    session.real = session.real[..., :source]
    session.skipped = None if session.skipped is None else session.skipped - unused
    session.past -= unused
    for cache in session.caches:
        cache.keys, cache.values = cache.keys[:, :, unused:], cache.values[:, :, unused:]
        cache.source_keys = cache.source_keys[:, :, :source]
        cache.source_values = cache.source_values[:, :, :source]


def first_tokens(
    session: DecoderSession, given: Sequence[Sequence[int]], *, start: int, width: int, device: torch.device
) -> Int[Tensor, "rows width"]:
    """What to feed first, after the session has read what is given to each row but its last symbol."""
    longest = max(map(len, given))
    whole = [[start] * (longest - len(row)) + [start, *row] for row in given]
    placed = torch.tensor(whole, device=device)
    if longest:
        assert isinstance(session, FeedsAtOnce), "a session that can be fed several tokens at once"
        skipped = torch.tensor([longest - len(row) for row in given], device=device)
        session.feed(placed[:, :-1], skipped)
    return placed[:, -1:].repeat(1, width)


def _widened(
    session: JoinableSession, *, past: int, source: int
) -> tuple[Bool[Tensor, "rows 1 1 source"], Int[Tensor, "hypotheses"]]:
    """Makes all caches so long, and gives what is real and what is skipped then."""
    before, behind = past - session.past, source - session.real.shape[-1]
    for cache in session.caches:
        cache.keys, cache.values = _empty_before(cache.keys, before), _empty_before(cache.values, before)
        cache.source_keys = _empty_behind(cache.source_keys, behind)
        cache.source_values = _empty_behind(cache.source_values, behind)
    real = torch.cat([session.real, session.real.new_zeros(*session.real.shape[:-1], behind)], -1)
    skipped = session.skipped
    if skipped is None:
        skipped = torch.zeros(session.rows * session.width, dtype=torch.long, device=real.device)
    return real, skipped + before


def _empty_before(slots: Tensor, count: int) -> Tensor:
    empty = slots.new_zeros(*slots.shape[:2], count, slots.shape[3])
    return torch.cat([empty, slots], 2) if count else slots


def _empty_behind(slots: Tensor, count: int) -> Tensor:
    empty = slots.new_zeros(*slots.shape[:2], count, slots.shape[3])
    return torch.cat([slots, empty], 2) if count else slots
