"""A decoding session in memory of fixed shapes."""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor

from trimtab.model.session import Session
from trimtab.model.static.session_memory import Place, SessionMemory
from trimtab.model.static.shapes import Shape
from trimtab.model.static.step import static_step

Launch = Callable[[Shape, Callable[[], None]], None]
"""Runs a step of a shape, by calling it or from a recording of it."""


class StaticSession:
    """As the `Session` that it begins with, whose rows it takes over; see `types.DecoderSession` and
    `types.FeedsAtOnce`. A session that is fed several tokens at once stays what it was.

    Rows and slots are rounded up to a few shapes. Rows that are dropped leave their places to others, and the shape
    becomes smaller when half of it is enough.
    """

    def __init__(self, plain: Session, memory: SessionMemory, *, max_length: int, launch: Launch) -> None:
        """`memory` is used by nobody else and holds `shape_of(plain, max_length)`."""
        self.model, self.memory, self.launch = plain.model, memory, launch
        self.rows, self.max_length = plain.rows, max_length
        self.plain: Session | None = plain
        """Until the first step, or for ever where it was fed."""
        self.past = 0
        self.place: Place | None = None

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one, which the step after this
        one overwrites."""
        if self.plain is not None and self.plain.past:
            return self.plain.step(tokens)
        place = self._begin(self.plain) if self.plain is not None else self._entered()
        if self.past == place.shape.memory:
            place = self._move(None, place.shape._replace(memory=2 * place.shape.memory))
        place.tokens[: self.rows] = tokens
        self.launch(place.shape, lambda: static_step(self.model, place))
        self.past += 1
        return place.logits[: self.rows]

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """As the plain session, which it leaves in charge."""
        assert self.plain is not None, "a session is fed before its first step"
        self.plain.feed(tokens, skipped)

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        if self.plain is not None:
            self.plain.reorder(parents)
            return
        ancestors = self._entered().ancestors[: self.rows]
        ancestors.copy_(ancestors.gather(1, parents[..., None].expand_as(ancestors)))

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        if self.plain is not None:
            self.plain.keep(rows)
        else:
            self._move(rows, self._entered().shape.shrunk(len(rows)))
        self.rows = len(rows)

    def _entered(self) -> Place:
        assert self.place is not None, "a session that has made a step"
        return self.place

    def _begin(self, plain: Session) -> Place:
        shape = shape_of(plain, self.memory.first_slots(self.max_length))
        self.place = place = self.memory.place(shape)
        place.past.zero_()
        place.tokens.zero_()
        place.ancestors.zero_()
        _put_sources(place, plain.real, [(cache.source_keys, cache.source_values) for cache in plain.caches])
        self.plain = None
        return place

    def _move(self, rows: Int[Tensor, "kept"] | None, shape: Shape) -> Place:
        """Goes on in another shape, with these rows or all. The memory is the same, so what is kept is copied first."""
        old, new = self._entered(), self.memory.place(shape)
        chosen = slice(self.rows) if rows is None else rows
        ancestors, real = taken(old.ancestors[:, :, : self.past], chosen), taken(old.real, chosen)
        sources = [
            (taken(each.source_keys, chosen), taken(each.source_values, chosen)) for each in old.blocks
        ]
        for before, after in zip(old.blocks, new.blocks, strict=True):
            for one, other in ((before.keys, after.keys), (before.values, after.values)):
                kept = taken(one[:, :, : self.past], chosen)
                other[: len(kept), :, : self.past] = kept
        new.tokens.zero_()
        new.ancestors.zero_()
        new.ancestors[: len(ancestors), :, : self.past] = ancestors
        _put_sources(new, real, sources)
        self.place = new
        return new


def shape_of(plain: Session, memory: int) -> Shape:
    """The shape for a session and so many target tokens."""
    return Shape.holding(rows=plain.rows, width=plain.width, source=plain.real.shape[-1], memory=memory)


def taken(x: Tensor, chosen: Tensor | slice) -> Tensor:
    """A copy of these rows."""
    return x[chosen].clone() if isinstance(chosen, slice) else x[chosen]


def _put_sources(place: Place, real: Tensor, sources: list[tuple[Tensor, Tensor]]) -> None:
    """Fills the rows from the first on. Those after them see a single token: of none at all, attention makes NaN."""
    rows, source = len(real), real.shape[-1]
    place.real.zero_()
    place.real[..., 0] = True
    place.real[:rows, ..., :source] = real
    for slots, (keys, values) in zip(place.blocks, sources, strict=True):
        for kept, new in ((slots.source_keys, keys), (slots.source_values, values)):
            kept.zero_()
            kept[:rows, :, :source] = new
