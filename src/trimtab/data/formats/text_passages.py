"""Documents of a text file, blocks of lines between blank ones, read in place passage by passage."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from trimtab.data.cache import committed, writable_folder
from trimtab.data.formats.json_line import is_document_object
from trimtab.data.formats.passage import BYTES_BEFORE, Passage, cut_at, tail
from trimtab.data.formats.text import text_of
from trimtab.data.lines import Lines, open_lines

_BYTE_ORDER_MARK = "\ufeff"
_STRETCH_BYTES = 1 << 24
"""So much of the file is looked at at once for blank lines."""
_IS_WRITTEN = ~np.isin(np.arange(256, dtype=np.uint8), np.frombuffer(b" \t\n\r\x0b\x0c", np.uint8))
"""For each byte, whether a line that has it is not blank."""


@dataclass(frozen=True, slots=True)
class TextPassages:
    """The passages of all documents, numbered through. A carriage return and a newline are a newline."""

    lines: Lines
    fingerprint: str
    """Of the documents, whatever the size of their passages."""
    places: np.ndarray
    """For each passage the first byte, one past the last, and the number of its document; int64."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def is_jsonl(self) -> bool:
        """Whether its first line that is not blank is a document of JSONL, so that it is read in the wrong way."""
        return len(self) > 0 and is_document_object(self.lines, self.lines.line_at(int(self.places[0, 0])))

    @property
    def num_documents(self) -> int:
        """Blocks of lines between blank ones."""
        return int(self.places[-1, 2]) + 1 if len(self) else 0

    def passage(self, number: int) -> Passage:
        """Passage `number`, from 0; InputError where it is not UTF-8."""
        start, stop, document = self.places[number].tolist()
        begins = number == 0 or int(self.places[number - 1, 2]) != document
        ends = number + 1 == len(self) or int(self.places[number + 1, 2]) != document
        first = start if begins else max(start - BYTES_BEFORE, int(self.places[number - 1, 0]))
        data = self.lines.between(first, stop)
        text = self._decoded(data[start - first :], start).replace("\r\n", "\n")
        # The document's last newline is not part of it, and neither is what stands before that one in CRLF.
        before = tail(data[: start - first]).replace("\r\n", "\n")
        return Passage(text.removesuffix("\r") if ends else text, before, ends)

    def pair(self, line: int) -> tuple[str, str]:
        """Nothing, and the text of a passage."""
        return "", self.passage(line).text

    def num_bytes(self, line: int) -> int:
        """Bytes of a passage; nothing of it is read."""
        start, stop, _ = self.places[line].tolist()
        return stop - start

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The passages that have more bytes."""
        return np.flatnonzero(self.places[:, 1] - self.places[:, 0] > num_bytes)

    def place(self, line: int) -> str:
        """`file:line` of where a passage begins, counted from 1."""
        return f"{self.lines.path}:{self.lines.line_at(int(self.places[line, 0])) + 1}"

    def _decoded(self, data: bytes, start: int) -> str:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            text_of(
                self.lines, self.lines.line_at(start + error.start)
            )  # says which line, and what is wrong with it
            raise
        return text.removeprefix(_BYTE_ORDER_MARK) if start == 0 else text


def open_text_passages(path: Path, *, most: int, cache: Path) -> TextPassages:
    """The documents of a plain, .gz, .xz or .zst file in passages of at most `most` bytes; where they begin is looked
    for once, and kept in `cache`."""
    lines = open_lines(path, cache=cache)
    file_name = places_name("text", lines, most=most)
    places = load_places(cache / file_name, columns=3)
    if places is None:
        places = np.array(list(_passages(lines, most)), np.int64).reshape(-1, 3)
        with committed(writable_folder(cache) / file_name) as file:
            np.save(file, places, allow_pickle=False)
    fingerprint = hashlib.sha256(f"text documents {lines.fingerprint}".encode()).hexdigest()
    return TextPassages(lines, fingerprint, places)


def places_name(kind: str, lines: Lines, *, most: int) -> str:
    """The name under which a table of passages is kept: another text, or another size of them, has another one."""
    key = f"{kind} passages 2 {most} {lines.fingerprint}"
    return f"{hashlib.sha256(key.encode()).hexdigest()}.npy"


def load_places(path: Path, *, columns: int) -> np.ndarray | None:
    """A stored table of passages, mapped; None where there is none, or another one."""
    try:
        places = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return places if places.dtype == np.int64 and places.ndim == 2 and places.shape[1] == columns else None


def _passages(lines: Lines, most: int) -> Iterator[tuple[int, int, int]]:
    for document, (start, stop) in enumerate(_documents(lines)):
        while stop - start > most:
            cut = start + cut_at(lines.between(start, start + most))
            yield start, cut, document
            start = cut
        yield start, stop, document


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
