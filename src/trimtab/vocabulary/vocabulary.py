"""What surgery needs of a tokenizer, whatever its format."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.merges import Merge

RARE_CHARACTERS = 5e-4
"""Share of the characters without a piece that get none, the rarest; as sentencepiece's character coverage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """New pieces from a text, in the order in which they are added."""

    characters: Mapping[str, int]
    """Characters that had no piece, and how often they occur."""
    merges: tuple[Merge, ...]
    """Pieces that join two others."""
    total: int
    """Pieces that the text had before."""

    def __len__(self) -> int:
        return len(self.characters) + len(self.merges)


@dataclass(frozen=True, slots=True)
class Text:
    """The lines of a file."""

    name: str
    lines: tuple[str, ...]
    reader: int = 0
    """Which of a vocabulary's readers splits it."""


@runtime_checkable
class Vocabulary(Protocol):
    """A tokenizer that can be cut and extended. Ids are those of the model's rows."""

    @property
    def num_ids(self) -> int:
        """Ids that have a piece."""
        ...

    @property
    def algorithm(self) -> str:
        """How text is split: unigram, BPE or WordPiece."""
        ...

    @property
    def protected(self) -> frozenset[int]:
        """Ids that stay whatever a text needs: special symbols, added tokens and language codes, bytes."""
        ...

    @property
    def readers(self) -> int:
        """How many ways there are to split a text: two where source and target have a model each."""
        ...

    def encode(self, lines: Sequence[str], *, reader: int = 0) -> list[list[int]]:
        """Ids of each line, without symbols before and after it."""
        ...

    def decode(self, rows: Sequence[Sequence[int]], *, reader: int = 0) -> list[str]:
        """Text of rows of ids."""
        ...

    def piece(self, id: int) -> str:
        """How an id is spelled in the file."""
        ...

    @property
    def unnumbered(self) -> frozenset[str]:
        """Pieces that the tokenizer can make and that have no id, so that they become the unknown one."""
        ...

    def with_ancestors(self, ids: Collection[int]) -> set[int]:
        """These ids and those that the tokenizer makes on its way to them."""
        ...

    def by_usefulness(self) -> list[int]:
        """Ids of ordinary pieces, those first that the tokenizer's own training found first or likeliest."""
        ...

    def trimmed(self, kept: Sequence[int]) -> "Vocabulary":
        """Only these ids, renumbered in this order."""
        ...

    def extended(self, texts: Sequence[Text], number: int) -> "tuple[Vocabulary, VocabularyChange]":
        """With the `number` new pieces that shorten these texts most, and what each id comes from."""
        ...

    def write(self, folder: Path) -> None:
        """Writes its files into a folder, over those that it was read from."""
        ...


def missing_characters(
    words: Counter[str], held: Collection[str], *, most: int, prefix: str = ""
) -> dict[str, int]:
    """Characters of these words that no piece holds, the most frequent first, without the rarest ones. With a `prefix`
    those that are not the first of their word are other pieces, which begin with it."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for place, character in enumerate(word):
            form = prefix + character if place else character
            if form not in held:
                counts[form] += count
    left = sum(counts.values()) * (1 - RARE_CHARACTERS)
    chosen: dict[str, int] = {}
    for form, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        if count < 2 or left <= 0 or len(chosen) == most:
            break
        chosen[form] = count
        left -= count
    return chosen


def reader_of(vocabulary: Vocabulary, lines: Sequence[str]) -> int:
    """The reader that needs the fewest pieces for a text: that of its language, where source and target have one."""
    if vocabulary.readers == 1:
        return 0
    counts = [sum(map(len, vocabulary.encode(lines, reader=each))) for each in range(vocabulary.readers)]
    return counts.index(min(counts))
