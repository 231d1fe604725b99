"""Documents of a file in passages that are numbered through: what all formats of documents have in common."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab.data.cache import committed, writable_folder
from trimtab.data.formats.pairs import PlainPairs
from trimtab.data.formats.passage import Passage
from trimtab.data.lines import Lines

START, STOP, DOCUMENT = range(3)
"""Columns of a table of places."""


@runtime_checkable
class ReadsDocuments(Protocol):
    """A file of documents in one format."""

    @property
    def lines(self) -> Lines:
        """Of the file."""
        ...

    @property
    def kind(self) -> str:
        """How the documents are written."""
        ...

    def cut(self, most: int) -> Iterator[tuple[int, int, int]]:
        """For each passage its first byte, one past the last, and the number of its document, which only grows; the
        bytes are counted as the format likes. No passage has more than `most` of them."""
        ...

    def read(self, places: np.ndarray, number: int) -> Passage:
        """The passage at a row of the table that was made of `cut`; InputError if it cannot be read."""
        ...

    def line_of(self, place: np.ndarray) -> int:
        """The line, from 0, in which a passage begins."""
        ...


@dataclass(frozen=True, slots=True)
class Passages(PlainPairs):
    """The passages of all documents of a file; holds no text, and may be pickled."""

    documents: ReadsDocuments
    fingerprint: str
    """Of the documents, whatever the size of their passages."""
    places: np.ndarray
    """For each passage its first byte, one past the last, and the number of its document; int64."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each passage, as its format counts them; int64."""
        return self.places[:, STOP] - self.places[:, START]

    @property
    def num_documents(self) -> int:
        """Documents with a text."""
        return int(np.count_nonzero(np.diff(self.places[:, DOCUMENT]))) + 1 if len(self) else 0

    @property
    def empty_documents(self) -> list[int]:
        """The lines, from 0, of documents without a text; between blank lines there are none."""
        if self.documents.kind != "jsonl":
            return []
        return np.setdiff1d(np.arange(len(self.documents.lines)), self.places[:, DOCUMENT]).tolist()

    def passage(self, number: int) -> Passage:
        """Passage `number`, from 0; InputError if it cannot be read."""
        return self.documents.read(self.places, number)

    def pair(self, line: int) -> tuple[str, str]:
        """Nothing, and the text of a passage: what a corpus of pairs would give."""
        return "", self.passage(line).text

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these passages, in their order."""
        return map(self.pair, lines)

    def num_bytes(self, line: int) -> int:
        """Bytes of a passage; nothing of it is read."""
        return int(self.places[line, STOP] - self.places[line, START])

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The passages that have more bytes."""
        return np.flatnonzero(self.sizes > num_bytes)

    def place(self, line: int) -> str:
        """`file:line` of where a passage begins, counted from 1."""
        return f"{self.documents.lines.path}:{self.documents.line_of(self.places[line]) + 1}"


def cut_in_passages(
    documents: ReadsDocuments, *, most: int, cache: Path, fingerprint: str, checked: str = ""
) -> Passages:
    """The passages of a file, each of at most `most` bytes. Where they begin is looked for once, and kept in `cache`;
    `fingerprint` says what is hashed of the documents, `checked` what `cut` checks of them: a table that was made with
    other checks is made again."""
    path = cache / _table_name(documents, most=most, checked=checked)
    places = _stored(path)
    if places is None:
        places = np.array(list(documents.cut(most)), np.int64).reshape(-1, 3)
        with committed(writable_folder(cache) / path.name) as file:
            np.save(file, places, allow_pickle=False)
    return Passages(documents, hashlib.sha256(fingerprint.encode()).hexdigest(), places)


def _table_name(documents: ReadsDocuments, *, most: int, checked: str) -> str:
    """The name under which a table is kept: another text, another size of its passages, or other checks have another
    one."""
    key = f"{documents.kind}{checked and f', {checked},'} passages 3 {most} {documents.lines.fingerprint}"
    return f"{hashlib.sha256(key.encode()).hexdigest()}.npy"


def _stored(path: Path) -> np.ndarray | None:
    """A stored table, mapped; None if there is none, or another one."""
    try:
        places = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return places if places.dtype == np.int64 and places.ndim == 2 and places.shape[1] == 3 else None
