"""Reads a corpus once and keeps of each line what the checks need: lengths, digests, and what disagrees between sides.

48 bytes a line: half a gigabyte for ten million lines, and about a minute for each million.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Int64, UInt8, UInt64

DIGITS, ADDRESSES, COPY = 1, 2, 4
"""What is odd about a pair: other numbers, other addresses, a target that is the source."""

_NUMBER = re.compile("[0-9]+")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"']+")
_NOT_WORD = re.compile(r"[\W_]+")
_ANY_DIGIT = re.compile(r"\d")
_LEAST_COPY_WORDS, _LEAST_COPY_CHARACTERS = 4, 20


@runtime_checkable
class ReadsPairs(Protocol):
    """A corpus, as far as it matters here."""

    def __len__(self) -> int: ...

    def pair(self, line: int) -> tuple[str, str]:
        """Source and target; InputError if the line cannot be read."""
        ...

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class LengthScan:
    """How long some lines of a corpus are, in their order."""

    line: Int64[np.ndarray, "lines"]
    """From 0."""
    source_length: Int[np.ndarray, "lines"]
    """In characters; 0 for a blank side, spaces or not."""
    target_length: Int[np.ndarray, "lines"]

    def __len__(self) -> int:
        return len(self.line)


@dataclass(frozen=True, slots=True)
class Scan(LengthScan):
    """What is known of some lines of a corpus, in their order."""

    source: UInt64[np.ndarray, "lines"]
    """Digests of the texts as they are; among ten million lines two different ones agree with a chance of 1 in 10^5."""
    target: UInt64[np.ndarray, "lines"]
    loose_source: UInt64[np.ndarray, "lines"]
    """Digests without case, punctuation and spaces, all digits taken for the same."""
    loose_target: UInt64[np.ndarray, "lines"]
    odd: UInt8[np.ndarray, "lines"]
    """Sum of `DIGITS`, `ADDRESSES`, `COPY`."""

    @property
    def pair(self) -> UInt64[np.ndarray, "lines"]:
        """Digests of both texts together."""
        return paired(self.source, self.target)

    @property
    def loose_pair(self) -> UInt64[np.ndarray, "lines"]:
        """The same without case, punctuation, spaces and digits."""
        return paired(self.loose_source, self.loose_target)

    def exchanged(self) -> "Scan":
        """Of the same lines read from target to source, without those whose sides are one text: nothing new in them."""
        new = self.source != self.target
        return Scan(
            line=self.line[new],
            source_length=self.target_length[new],
            target_length=self.source_length[new],
            source=self.target[new],
            target=self.source[new],
            loose_source=self.loose_target[new],
            loose_target=self.loose_source[new],
            odd=self.odd[new],
        )


def scan_corpus(corpus: ReadsPairs, lines: Sequence[int]) -> Scan:
    """Reads these lines."""
    count = len(lines)
    lengths = np.zeros((2, count), np.int32)
    digests = np.zeros((4, count), np.uint64)
    odd = np.zeros(count, np.uint8)
    for place, (source, target) in enumerate(corpus.several(lines)):
        lengths[:, place] = _length(source), _length(target)
        digests[:, place] = digest(source), digest(target), digest(loose(source)), digest(loose(target))
        odd[place] = oddities(source, target)
    return Scan(
        line=np.array(lines, np.int64),
        source_length=lengths[0],
        target_length=lengths[1],
        source=digests[0],
        target=digests[1],
        loose_source=digests[2],
        loose_target=digests[3],
        odd=odd,
    )


def scan_lengths(corpus: ReadsPairs, lines: Sequence[int]) -> LengthScan:
    """Reads these lines for no more than their lengths, which costs a fraction of a scan."""
    sides = [(_length(source), _length(target)) for source, target in corpus.several(lines)]
    lengths = np.array(sides, np.int32)
    source, target = lengths.reshape(-1, 2).T
    return LengthScan(np.array(lines, np.int64), source, target)


def oddities(source: str, target: str) -> int:
    """What is odd about a pair; numbers are compared without their separators, so that 1,000.5 is 1.000,5."""
    if source == target:
        return COPY * _is_sentence(source)
    return DIGITS * (_numbers(source) != _numbers(target)) + ADDRESSES * (
        _num_addresses(source) != _num_addresses(target)
    )


def loose(text: str) -> str:
    """The text without case, punctuation and spaces, each digit a 0; as it is where nothing else is in it."""
    return _ANY_DIGIT.sub("0", _NOT_WORD.sub("", text.casefold())) or text


def digest(text: str) -> int:
    """64 bits of a text, the same in every process."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def paired(
    source: UInt64[np.ndarray, "lines"], target: UInt64[np.ndarray, "lines"]
) -> UInt64[np.ndarray, "lines"]:
    """One digest for two; the order counts."""
    # The odd constant of Fibonacci hashing; products wrap.
    return source * np.uint64(0x9E3779B97F4A7C15) + (target ^ (source >> np.uint64(31)))


def _length(text: str) -> int:
    return 0 if text.isspace() else len(text)


def _numbers(text: str) -> Counter[str]:
    if not _ANY_DIGIT.search(text):
        return Counter()
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return Counter(number.lstrip("0") for number in _NUMBER.findall(plain))


def _num_addresses(text: str) -> int:
    return len(_ADDRESS.findall(text)) if "://" in text or "www." in text else 0


def _is_sentence(text: str) -> bool:
    return len(text) >= _LEAST_COPY_CHARACTERS and len(text.split()) >= _LEAST_COPY_WORDS
