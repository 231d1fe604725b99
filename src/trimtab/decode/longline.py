"""Splits a line that is longer than the model can read: at sentence ends, else at spaces, else between tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.types import Tokenizer

ROOM = 2 / 3
"""Pieces are filled up to this share of `max_tokens`: the translation has the same bound and may be longer."""

_WORD = re.compile(r"\S+")
# A full stop, perhaps with closing quotes and brackets behind it, ends a sentence at the end of a word; the full-width
# ones end it anywhere. Each alternative begins where a run begins and never backs out, so the time is linear.
_WORD_ENDS_SENTENCE = re.compile(r"""(?<![.!?…؟۔।])[.!?…؟۔।]++["'”’»)\]]*+$""")
_FULL_WIDTH_END = re.compile(r"(?<![。！？｡])[。！？｡]++[」』”’）]*+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a line, in ids."""

    ids: list[int]
    """End symbol included."""
    glue: str
    """What stands between the translation of this piece and that of the one before: a space where the source has
    white space, else nothing."""
    text: str = ""
    """What the ids are of. Where text without any border is cut between tokens, the first piece has all of it."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of the line without white space at its ends."""

    gap: int
    """Where the span before stops; between there and `start` is white space or nothing."""
    start: int
    stop: int


def cut_line(line: str, *, tokenizer: Tokenizer, max_tokens: int, within_words: bool = True) -> list[Piece]:
    """The line as pieces of at most `max_tokens` tokens, end symbol included, in order and with nothing left out. With
    `within_words`, a full-width sign ends a sentence between two spaces too."""
    capacity = max(2, int(max_tokens * ROOM))
    fitting: list[tuple[_Span, int]] = []
    for sentence, size in _measured(line, list(_sentences(line, within_words=within_words)), tokenizer):
        if size <= capacity:
            fitting.append((sentence, size))
        else:
            fitting.extend(_measured(line, list(_words(line, sentence)), tokenizer))
    spans = list(_filled(fitting, capacity=capacity))
    pieces: list[Piece] = []
    rows = tokenizer.encode([line[span.start : span.stop] for span in spans])
    for span, ids in zip(spans, rows, strict=True):
        glue = " " if pieces and span.gap < span.start else ""
        pieces.extend(_hard_cut(ids, glue=glue, text=line[span.start : span.stop], capacity=capacity))
    return pieces


def _sentences(line: str, *, within_words: bool) -> Iterator[_Span]:
    """Spans from sentence end to sentence end."""
    gap = start = stop = 0
    for word in _WORD.finditer(line):
        if start == stop:  # nothing is open: the next sentence begins here
            start = word.start()
        stop = word.end()
        for end in _FULL_WIDTH_END.finditer(line, word.start(), word.end()) if within_words else ():
            yield _Span(gap, start, end.end())
            gap = start = end.end()
        if start < stop and _WORD_ENDS_SENTENCE.search(word.group()):
            yield _Span(gap, start, stop)
            gap = start = stop
    if start < stop:
        yield _Span(gap, start, stop)


def _words(line: str, span: _Span) -> Iterator[_Span]:
    gap = span.gap
    for word in _WORD.finditer(line, span.start, span.stop):
        yield _Span(gap, *word.span())
        gap = word.end()


def _measured(line: str, spans: list[_Span], tokenizer: Tokenizer) -> Iterator[tuple[_Span, int]]:
    """Each span with its number of tokens, those of the gap before it and the end symbol included."""
    rows = tokenizer.encode([line[span.gap : span.stop] for span in spans])
    return zip(spans, (len(row) for row in rows), strict=True)


def _filled(spans: list[tuple[_Span, int]], *, capacity: int) -> Iterator[_Span]:
    """Neighbours joined as long as they fit; a span that is too long by itself stays alone."""
    joined: _Span | None = None
    filled = 0
    for span, size in spans:
        if joined is not None and filled + size - 1 <= capacity:  # one end symbol for both
            joined, filled = _Span(joined.gap, joined.start, span.stop), filled + size - 1
            continue
        if joined is not None:
            yield joined
        joined, filled = span, size
    if joined is not None:
        yield joined


def _hard_cut(ids: list[int], *, glue: str, text: str, capacity: int) -> Iterator[Piece]:
    """The ids in one piece where they fit, else cut between tokens; none where there is nothing but the end symbol.

    Text that was measured in parts and joined can need this too: together its tokens may be a few more.
    """
    *content, end = ids
    for start in range(0, len(content), capacity - 1):
        joined, of = (glue, text) if start == 0 else ("", "")
        yield Piece([*content[start : start + capacity - 1], end], joined, of)
