"""One document per line: lists of source and target sentences, aligned."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.data.cache import committed, writable_folder
from trimtab.data.formats.json_line import field_at, field_paths, has_half_character, read_json
from trimtab.data.formats.pairs import PlainPairs, field_names
from trimtab.data.formats.text import text_of
from trimtab.data.lines import Lines, open_lines
from trimtab.errors import InputError, Problem, input_error

_REPAIR = "repair or remove the line"
_MOST_KEPT = 16
"""Documents kept as read, since neighbours are asked for one after another."""
_BROKEN = -1
"""Stands in the cache for the number of sentences of a document that cannot be read."""
MOST_PROBLEMS = 10
"""Broken documents that one error names."""

Sentences = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DocumentPairs(PlainPairs):
    """The sentence pairs of all documents, numbered through; each knows those before it in its document."""

    lines: Lines
    source: str
    target: str
    fingerprint: str
    first: np.ndarray
    """Number of the first pair of each document, and one past the last pair of all, int64."""
    broken: np.ndarray
    """Lines, from 0, of documents that cannot be read; they have no pairs. See `refuse_broken`."""
    _kept: "OrderedDict[int, Sentences]" = field(default_factory=OrderedDict, compare=False, repr=False)

    def __len__(self) -> int:
        return int(self.first[-1])

    @property
    def num_documents(self) -> int:
        """Documents in the file, those without a sentence too."""
        return len(self.first) - 1

    @property
    def empty_documents(self) -> list[int]:
        """The lines, from 0, of documents without a sentence, blank lines too."""
        return np.setdiff1d(np.flatnonzero(np.diff(self.first) == 0), self.broken).tolist()

    @property
    def broken_documents(self) -> list[tuple[int, Problem]]:
        """See `Pairs`; broken documents give no pairs."""
        return [(number + 1, self.problem(number)) for number in self.broken.tolist()]

    def problem(self, number: int) -> Problem:
        """What is wrong with a broken document."""
        try:
            self.document(number)
        except InputError as error:
            return error.problems[0]
        raise AssertionError(f"{self.lines.path}: document {number} is not broken")

    def refuse_broken(self) -> None:
        """InputError with what is wrong with the first ten broken documents; nothing where there are none."""
        if len(self.broken):
            raise InputError(*map(self.problem, self.broken[:MOST_PROBLEMS].tolist()))

    def document(self, number: int) -> Sentences:
        """All sentence pairs of a document."""
        return read_document(self.lines, number, source=self.source, target=self.target)

    def num_bytes(self, line: int) -> int:
        """0: a document is read as a whole, so nothing is known of a sentence before."""
        return 0

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """None: what is long here is a document, of many sentences."""
        return np.zeros(0, np.int64)

    def pair(self, line: int) -> tuple[str, str]:
        """Sentence pair number `line`."""
        sentences, place = self._at(line)
        return sentences[place]

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these numbers, in their order."""
        return map(self.pair, lines)

    def place(self, line: int) -> str:
        """`file:line` of the document that the pair is in."""
        return f"{self.lines.path}:{self._document_of(line) + 1}"

    def before(self, line: int, count: int) -> Sentences:
        """At most `count` pairs that come before that one in its document, in their order."""
        sentences, place = self._at(line)
        return sentences[max(0, place - count) : place]

    def _at(self, line: int) -> tuple[Sentences, int]:
        number = self._document_of(line)
        kept = self._kept.get(number)
        if kept is None:
            kept = read_document(self.lines, number, source=self.source, target=self.target)
            self._kept[number] = kept
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return kept, line - int(self.first[number])

    def _document_of(self, line: int) -> int:
        if not 0 <= line < len(self):
            raise IndexError(f"{self.lines.path}: pair {line} of {len(self)}, counted from 0")
        # The last of those that begin there: documents without a sentence begin where the next one does.
        return int(np.searchsorted(self.first, line, side="right")) - 1


def open_documents(path: Path, *, source: str | int, target: str | int, cache: Path) -> DocumentPairs:
    """The file, read once for the number of sentences of each document; later openings find it in the cache.

    A document that is malformed or has unequal sides is one of `broken`.
    """
    names = field_names(path, source=source, target=target)
    lines = open_lines(path, cache=cache)
    key = json.dumps(["documents 2", lines.fingerprint, *names])
    fingerprint = hashlib.sha256(key.encode()).hexdigest()
    counts = _load(cache / f"{fingerprint}.npy", len(lines))
    if counts is None:
        counts = np.array([_num_sentences(lines, line, names) for line in range(len(lines))], dtype=np.int64)
        with committed(writable_folder(cache) / f"{fingerprint}.npy") as file:
            np.save(file, counts, allow_pickle=False)
    first = np.append(0, np.maximum(counts, 0).cumsum()).astype(np.int64)
    return DocumentPairs(lines, *names, fingerprint, first, np.flatnonzero(counts == _BROKEN))


def _num_sentences(lines: Lines, line: int, names: Sequence[str]) -> int:
    try:
        return len(read_document(lines, line, source=names[0], target=names[1]))
    except InputError:
        return _BROKEN


def read_document(lines: Lines, line: int, *, source: str, target: str) -> Sentences:
    """The sentence pairs of the document on a line (from 0), none on a blank one; InputError if they are not two equal
    lists of text."""
    text = text_of(lines, line)
    if not text or text.isspace():
        return []
    try:
        fields = read_json(text)
    except (ValueError, RecursionError) as error:
        raise _problem(lines, line, "is not valid JSON", got=str(error)[:200]) from None
    if not isinstance(fields, dict):
        raise _problem(lines, line, "is no JSON object", got=type(fields).__name__)
    left, right = (_sentences(lines, line, fields, name) for name in (source, target))
    if len(left) != len(right):
        raise _problem(
            lines,
            line,
            f"has different numbers of sentences in {source!r} and {target!r}",
            got=f"{len(left)} and {len(right)}",
            allowed="the same number",
        )
    return list(zip(left, right, strict=True))


def _sentences(lines: Lines, line: int, fields: dict[str, Any], name: str) -> list[str]:
    try:
        value = field_at(fields, name)
    except KeyError:
        got = ", ".join(field_paths(fields))[:300] or "no fields"
        raise _problem(lines, line, f"has no field {name!r}", got=got) from None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _problem(
            lines,
            line,
            f"has no list of sentences in {name!r}",
            got=type(value).__name__,
            allowed='["...", "..."]',
        )
    if any(map(has_half_character, value)):
        raise _problem(lines, line, f"has half a character in {name!r}", got="a lone \\ud800-\\udfff")
    return value


def _problem(lines: Lines, line: int, what: str, *, got: str, allowed: str = "") -> InputError:
    return input_error(
        f"{lines.path}: line {line + 1} {what}",
        got=got,
        allowed=allowed or "a JSON object with two lists of sentences, equally long",
        fix=_REPAIR,
        where=f"{lines.path}:{line + 1}:1",
    )


def _load(path: Path, documents: int) -> np.ndarray | None:
    try:
        counts = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return counts if counts.dtype == np.int64 and counts.shape == (documents,) else None
