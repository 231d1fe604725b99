"""Documents of a JSONL file, the field `text` of each line, passage by passage."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trimtab.data.cache import committed, writable_folder
from trimtab.data.formats.json_line import FIELD
from trimtab.data.formats.jsonl import JsonlPairs
from trimtab.data.formats.passage import Passage, cuts, tail
from trimtab.data.formats.text_passages import load_places, places_name
from trimtab.data.lines import Lines, open_lines

_MOST_KEPT = 4
"""Documents kept as read, since the passages of one may be asked for one after another."""


@dataclass(frozen=True, slots=True)
class JsonlPassages:
    """The passages of all documents, numbered through; lines whose text is blank have none."""

    lines: Lines
    fingerprint: str
    """Of the documents, whatever the size of their passages."""
    places: np.ndarray
    """For each passage its line, and in the line's text the first byte and one past the last; int64."""
    _kept: "OrderedDict[int, bytes]" = field(default_factory=OrderedDict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def num_documents(self) -> int:
        """Lines with a text."""
        return len(np.unique(self.places[:, 0]))

    def passage(self, number: int) -> Passage:
        """Passage `number`, from 0."""
        line, start, stop = self.places[number].tolist()
        data = self._kept.get(line)
        if data is None:
            data = read_text(self.lines, line)
            if len(data) > stop - start:  # what is read in one go is not asked for again
                self._kept[line] = data
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return Passage(data[start:stop].decode(), tail(data[:start]), stop == len(data))

    def pair(self, line: int) -> tuple[str, str]:
        """Nothing, and the text of a passage."""
        return "", self.passage(line).text

    def num_bytes(self, line: int) -> int:
        """Bytes of a passage; nothing of it is read."""
        _, start, stop = self.places[line].tolist()
        return stop - start

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The passages that have more bytes."""
        return np.flatnonzero(self.places[:, 2] - self.places[:, 1] > num_bytes)

    def place(self, line: int) -> str:
        """`file:line` of a passage, counted from 1."""
        return f"{self.lines.path}:{int(self.places[line, 0]) + 1}"


def open_jsonl_passages(path: Path, *, most: int, cache: Path) -> JsonlPassages:
    """The documents of a .jsonl file (plain, .gz, .xz or .zst) in passages of at most `most` bytes.

    Every line is read once, for its length; later openings find it in the cache. Raises InputError, with the line,
    for one that is no object or has no text.
    """
    lines = open_lines(path, cache=cache)
    file_name = places_name("jsonl", lines, most=most)
    places = load_places(cache / file_name, columns=3)
    if places is None:
        places = np.array(list(_passages(lines, most)), np.int64).reshape(-1, 3)
        with committed(writable_folder(cache) / file_name) as file:
            np.save(file, places, allow_pickle=False)
    fingerprint = hashlib.sha256(f"jsonl documents {FIELD} {lines.fingerprint}".encode()).hexdigest()
    return JsonlPassages(lines, fingerprint, places)


def read_text(lines: Lines, line: int) -> bytes:
    """The text of a line, from 0, as UTF-8; InputError as for pairs of a JSONL file."""
    text, _ = JsonlPairs(lines, FIELD, FIELD, "").pair(line)
    return text.encode()


def _passages(lines: Lines, most: int) -> Iterator[tuple[int, int, int]]:
    for line in range(len(lines)):
        data = read_text(lines, line)
        if data.strip():
            yield from ((line, start, stop) for start, stop in cuts(data, most=most))
