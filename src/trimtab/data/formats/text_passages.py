"""Documents of a text file, blocks of lines between blank ones, read in place passage by passage."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np

from trimtab.data.formats.json_line import is_document_object
from trimtab.data.formats.passage import BYTES_BEFORE, Passage, cut_at, tail
from trimtab.data.formats.passages import DOCUMENT, START, Passages, cut_in_passages
from trimtab.data.formats.text import text_of
from trimtab.data.lines import Lines, open_lines

_BYTE_ORDER_MARK = "\ufeff"
_STRETCH_BYTES = 1 << 24
"""So much of the file is looked at at once for blank lines."""
_IS_WRITTEN = ~np.isin(np.arange(256, dtype=np.uint8), np.frombuffer(b" \t\n\r\x0b\x0c", np.uint8))
"""For each byte, whether a line that has it is not blank."""


@dataclass(frozen=True, slots=True)
class TextDocuments:
    """Blocks of lines, numbered through; bytes are counted in the file. A carriage return and a newline are a
    newline."""

    lines: Lines

    kind: ClassVar[str] = "text"

    def cut(self, most: int) -> Iterator[tuple[int, int, int]]:
        """See `ReadsDocuments`."""
        for document, (start, stop) in enumerate(_documents(self.lines)):
            while stop - start > most:
                cut = start + cut_at(self.lines.between(start, start + most))
                yield start, cut, document
                start = cut
            yield start, stop, document

    def read(self, places: np.ndarray, number: int) -> Passage:
        """See `ReadsDocuments`; InputError if it is not UTF-8."""
        start, stop, document = places[number].tolist()
        begins = number == 0 or int(places[number - 1, DOCUMENT]) != document
        ends = number + 1 == len(places) or int(places[number + 1, DOCUMENT]) != document
        first = start if begins else max(start - BYTES_BEFORE, int(places[number - 1, START]))
        data = self.lines.between(first, stop)
        text = self._decoded(data[start - first :], start).replace("\r\n", "\n")
        # The document's last newline is not part of it, and neither is its carriage return in CRLF.
        before = tail(data[: start - first]).replace("\r\n", "\n")
        return Passage(text.removesuffix("\r") if ends else text, before, ends)

    def line_of(self, place: np.ndarray) -> int:
        """See `ReadsDocuments`."""
        return self.lines.line_at(int(place[START]))

    def _decoded(self, data: bytes, start: int) -> str:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            text_of(
                self.lines, self.lines.line_at(start + error.start)
            )  # says which line, and what is wrong with it
            raise
        return text.removeprefix(_BYTE_ORDER_MARK) if start == 0 else text


def open_text_passages(path: Path, *, most: int, cache: Path) -> Passages:
    """The documents of a plain, .gz, .xz or .zst file in passages of at most `most` bytes; where they begin is looked
    for once, and kept in `cache`."""
    lines = open_lines(path, cache=cache)
    mark = f"text documents {lines.fingerprint}"
    return cut_in_passages(TextDocuments(lines), most=most, cache=cache, fingerprint=mark)


def holds_jsonl(text: Passages) -> bool:
    """Whether the first line that is not blank is a document of JSONL, so that the file is read in the wrong way."""
    lines = text.documents.lines
    return len(text) > 0 and is_document_object(lines, text.documents.line_of(text.places[0]))


def _documents(lines: Lines) -> Iterator[tuple[int, int]]:
    """First byte of each document, and one past its last that is no end of a line."""
    starts = lines.starts
    is_written = _written_lines(lines, starts)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_written, [False]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        yield int(starts[first]), int(starts[last]) - 1


def _written_lines(lines: Lines, starts: np.ndarray) -> np.ndarray:
    """For each line whether it has more than white space."""
    written = np.zeros(len(lines), bool)
    ends = np.searchsorted(starts[:-1], np.arange(0, int(starts[-1]) + _STRETCH_BYTES, _STRETCH_BYTES))
    for first, last in pairwise(np.unique(ends).tolist()):
        data = np.frombuffer(lines.between(int(starts[first]), int(starts[last])), np.uint8)
        inside = starts[first:last] - starts[first]
        is_written = _IS_WRITTEN[data]
        if first == 0 and data[:3].tobytes() == _BYTE_ORDER_MARK.encode():
            is_written[:3] = False
        written[first:last] = np.add.reduceat(is_written, inside, dtype=np.int64) > 0
    return written
