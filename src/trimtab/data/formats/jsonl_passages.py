"""Documents of a JSONL file, the field `text` of each line, passage by passage."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from trimtab.data.formats.json_line import FIELD
from trimtab.data.formats.jsonl import JsonlPairs
from trimtab.data.formats.passage import Passage, cuts, tail
from trimtab.data.formats.passages import DOCUMENT, Passages, cut_in_passages
from trimtab.data.lines import Lines, open_lines

_MOST_KEPT = 4
"""Documents kept as read, since the passages of one may be asked for one after another."""


@dataclass(frozen=True, slots=True)
class JsonlDocuments:
    """The texts of the lines, each numbered as its line; blank ones are no documents. Bytes are counted in the text of
    the line."""

    lines: Lines
    _kept: "OrderedDict[int, bytes]" = field(default_factory=OrderedDict, compare=False, repr=False)

    kind: ClassVar[str] = "jsonl"

    def cut(self, most: int) -> Iterator[tuple[int, int, int]]:
        """See `ReadsDocuments`. Reads every line; InputError, with the line, for one that is no object or has no
        text."""
        for line in range(len(self.lines)):
            data = read_text(self.lines, line)
            if data.strip():
                yield from ((start, stop, line) for start, stop in cuts(data, most=most))

    def read(self, places: np.ndarray, number: int) -> Passage:
        """See `ReadsDocuments`."""
        start, stop, line = places[number].tolist()
        data = self._kept.get(line)
        if data is None:
            data = read_text(self.lines, line)
            if len(data) > stop - start:  # what is read in one go is not asked for again
                self._kept[line] = data
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return Passage(data[start:stop].decode(), tail(data[:start]), stop == len(data))

    def line_of(self, place: np.ndarray) -> int:
        """See `ReadsDocuments`."""
        return int(place[DOCUMENT])


def open_jsonl_passages(path: Path, *, most: int, cache: Path) -> Passages:
    """The documents of a .jsonl file (plain, .gz, .xz or .zst) in passages of at most `most` bytes.

    Every line is read once, for its length; later openings find it in the cache. Raises InputError, with the line,
    for one that is no object or has no text.
    """
    lines = open_lines(path, cache=cache)
    mark = f"jsonl documents {FIELD} {lines.fingerprint}"
    return cut_in_passages(JsonlDocuments(lines), most=most, cache=cache, fingerprint=mark)


def read_text(lines: Lines, line: int) -> bytes:
    """The text of a line, from 0, as UTF-8; InputError as for pairs of a JSONL file."""
    text, _ = JsonlPairs(lines, FIELD, FIELD, "").pair(line)
    return text.encode()
