"""Passages: the stretches of a document that are read at once, so that training on a book does not need all of it in
memory.

Most documents are one passage. A longer one is cut behind a newline, else before a space, else between two characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

BYTES_BEFORE = 64
"""How much of the context before a passage is read with it."""
_CARRIAGE_RETURN = 13


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document."""

    text: str
    before: str
    """The last few characters before it in its document; nothing where the document begins with it."""
    ends: bool
    """Whether the document ends with it."""


def cut_at(window: bytes) -> int:
    """How many bytes of a window, of which more follow, a passage takes: in its later half behind the last newline,
    else before the last space; else as many as end with a whole character."""
    half = len(window) // 2
    if (line := window.rfind(b"\n", half) + 1) > 0:
        return line
    if (space := window.rfind(b" ", half)) > 0:
        return space
    end = len(window)
    # A continuation byte at the end may belong to a character that continues behind the window.
    while end > 1 and window[end - 1] & 0b1100_0000 == 0b1000_0000:
        end -= 1
    end = end - 1 if end > 1 and window[end - 1] >= 0b1100_0000 else len(window)
    # A carriage return stays with its newline, or they would be two line ends.
    return end - 1 if end > 1 and window[end - 1] == _CARRIAGE_RETURN else end


def cuts(data: bytes, *, most: int) -> Iterator[tuple[int, int]]:
    """Where the passages of a document begin and end; none has more than `most` bytes."""
    start = 0
    while len(data) - start > most:
        stop = start + cut_at(data[start : start + most])
        yield start, stop
        start = stop
    yield start, len(data)


def tail(data: bytes) -> str:
    """The last few characters, whole ones only."""
    return data[-BYTES_BEFORE:].decode("utf-8", errors="ignore")
