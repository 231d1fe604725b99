"""Windows: the examples of each step, taken from the stream while their target tokens fit."""

import itertools
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence

import numpy as np

from trimtab.data.chunk import Chunk
from trimtab.data.id_filter import fix_for_dropped
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.errors import InputError, input_error
from trimtab.types import DroppedExample, Ragged

_MOST_DROPPED_IN_A_ROW = 1_000_000


def windows(
    chunks: Iterable[Chunk],
    *,
    from_position: int,
    tokens_per_step: int,
    max_tokens: int,
    examples_per_epoch: int,
    sizes: Iterator[int] | None = None,
) -> Generator[TextGlobalBatch, None, None]:
    """The windows of the stream from a position on, across the ends of epochs.

    A window takes examples while their target tokens fit into `tokens_per_step`; the first that does not fit begins the
    next one, and its position is the window's `position`. So what comes after a window depends on that number alone.
    Where windows are not all alike, `sizes` gives the number of each in its place, none below `max_tokens`.
    Each dropped example is reported by one window, the one that it comes before the end of.

    Raises InputError at once where an example of `max_tokens` would not fit into a window; later where everything was
    dropped, an epoch or a million examples long.
    """
    if max_tokens > tokens_per_step:
        raise input_error(
            "step.tokens_per_step: an example of data.max_tokens does not fit into a step",
            got=f"tokens_per_step {tokens_per_step}, max_tokens {max_tokens}",
            allowed=f"tokens_per_step of at least {max_tokens}",
            fix="raise step.tokens_per_step or lower data.max_tokens",
        )
    patience = min(examples_per_epoch, _MOST_DROPPED_IN_A_ROW)
    sizes = itertools.repeat(tokens_per_step) if sizes is None else sizes
    return _windows(_kept_from(chunks, from_position, patience), sizes)


def _windows(chunks: Iterator[Chunk], sizes: Iterator[int]) -> Generator[TextGlobalBatch, None, None]:
    waiting: list[Chunk] = []
    num_tokens, size = 0, next(sizes)
    for chunk in chunks:
        waiting.append(chunk)
        num_tokens += int(chunk.counted[-1])
        # A window is whole once something does not fit any more.
        if num_tokens > size:
            rest, size = yield from _cut(_joined(waiting), size, sizes)
            waiting, num_tokens = [rest], int(rest.counted[-1])


def _cut(
    stream: Chunk, size: int, sizes: Iterator[int]
) -> Generator[TextGlobalBatch, None, tuple[Chunk, int]]:
    """All whole windows of what has been read; gives back what is left of it, and the size of the next window."""
    start, dropped_start, ends = 0, 0, stream.counted
    while ends[-1] - ends[start] > size:
        stop = int(np.searchsorted(ends, ends[start] + size, side="right")) - 1
        assert stop > start, "an example is longer than a window"
        position = int(stream.position[stop])
        dropped_stop = int(np.searchsorted(stream.dropped_position, position))
        yield TextGlobalBatch(
            source=stream.source.between(start, stop),
            target=stream.target.between(start, stop),
            corpus=stream.corpus[start:stop],
            line=stream.line[start:stop],
            position=position,
            dropped=stream.dropped[dropped_start:dropped_stop],
            prompt=stream.prompt[start:stop],
            links=None if stream.links is None else stream.links.between(start, stop),
        )
        start, dropped_start, size = stop, dropped_stop, next(sizes)
    return _between(stream, start, len(stream.target), dropped_start), size


def _kept_from(chunks: Iterable[Chunk], from_position: int, patience: int) -> Iterator[Chunk]:
    """The chunks without what lies before the position; InputError after `patience` positions with nothing kept."""
    dropped_in_a_row: Counter[str] = Counter()
    for chunk in chunks:
        start = int(np.searchsorted(chunk.position, from_position))
        dropped_start = int(np.searchsorted(chunk.dropped_position, from_position))
        chunk = _between(chunk, start, len(chunk.target), dropped_start)
        if len(chunk.target):
            dropped_in_a_row.clear()
        else:
            dropped_in_a_row.update(example.reason for example in chunk.dropped)
            if dropped_in_a_row.total() >= patience:
                raise _nothing_left(dropped_in_a_row, chunk.dropped)
        yield chunk


def _nothing_left(reasons: Counter[str], examples: Sequence[DroppedExample]) -> InputError:
    last = examples[-1]
    return input_error(
        f"data.train: every one of {reasons.total():,} examples in a row was dropped",
        got=", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
        + f"; the last one was line {last.line + 1} of corpus {last.corpus + 1}",
        fix=fix_for_dropped(reasons),
    )


def _between(chunk: Chunk, start: int, stop: int, dropped_start: int) -> Chunk:
    return Chunk(
        source=chunk.source.between(start, stop),
        target=chunk.target.between(start, stop),
        corpus=chunk.corpus[start:stop],
        line=chunk.line[start:stop],
        position=chunk.position[start:stop],
        dropped=chunk.dropped[dropped_start:],
        dropped_position=chunk.dropped_position[dropped_start:],
        prompt=chunk.prompt[start:stop],
        links=None if chunk.links is None else chunk.links.between(start, stop),
    )


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    return Chunk(
        source=Ragged.joined([chunk.source for chunk in chunks]),
        target=Ragged.joined([chunk.target for chunk in chunks]),
        corpus=np.concatenate([chunk.corpus for chunk in chunks]),
        line=np.concatenate([chunk.line for chunk in chunks]),
        position=np.concatenate([chunk.position for chunk in chunks]),
        dropped=tuple(example for chunk in chunks for example in chunk.dropped),
        dropped_position=np.concatenate([chunk.dropped_position for chunk in chunks]),
        prompt=np.concatenate([chunk.prompt for chunk in chunks]),
        links=None
        if any(chunk.links is None for chunk in chunks)
        else Ragged.joined([chunk.links for chunk in chunks if chunk.links is not None]),
    )
