"""Word alignments of the pairs of a corpus, read from a file in the Pharaoh format, and those of their tokens."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from trimtab.data.formats.text import text_of
from trimtab.data.lines import Lines, open_lines
from trimtab.data.mixture import Places
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.words import begins_word, num_words, words_of
from trimtab.errors import input_error
from trimtab.types import Ragged

_LINE = re.compile(r"\s*(?:\d{1,6}-\d{1,6}\s*)*")


@dataclass(frozen=True, slots=True)
class WordAlignments:
    """The links of each line."""

    lines: Lines
    is_reversed: bool = False
    """Whether the file has the target's words first, since the corpus is read the other way."""

    @property
    def fingerprint(self) -> str:
        """sha256 of the content and of the direction."""
        return hashlib.sha256(f"alignments {self.is_reversed} {self.lines.fingerprint}".encode()).hexdigest()

    def links(self, line: int) -> Int[np.ndarray, "links 2"]:
        """Source and target word of each link of a line, from 0; InputError for what is no link."""
        text = text_of(self.lines, line)
        if not _LINE.fullmatch(text) or "- " in text:
            raise input_error(
                f"{self.lines.path}: line {line + 1} is no word alignment",
                got=repr(text[:80]),
                allowed="links between words, both counted from 0, such as `0-0 1-2 2-1`; an empty line has none",
                fix="write the file with fast_align or eflomal, which use this format",
                where=f"{self.lines.path}:{line + 1}",
            )
        numbers = np.array(text.replace("-", " ").split(), np.int64).reshape(-1, 2)
        return numbers[:, ::-1] if self.is_reversed else numbers

    def check(self, line: int, pair: tuple[str, str]) -> None:
        """InputError where a link of a line has a word that its pair does not have."""
        for (word, which), text in zip(
            ((int(self.links(line)[:, side].max(initial=-1)), side) for side in (0, 1)), pair, strict=True
        ):
            if word >= (count := len(text.split())):
                side = ("source", "target")[which]
                raise input_error(
                    f"{self.lines.path}: line {line + 1} has a link to a word that the {side} does not have",
                    got=f"word {word}, counted from 0, of {count} words",
                    allowed="words as white space separates them in the files of the corpus",
                    fix="align the files as they are, not a tokenized copy of them",
                    where=f"{self.lines.path}:{line + 1}",
                )

    def reversed(self) -> "WordAlignments":
        """For the corpus read from target to source."""
        return WordAlignments(self.lines, not self.is_reversed)


def open_alignments(path: Path, *, num_pairs: int, cache: Path) -> WordAlignments:
    """The alignments in a file; InputError if there are more or fewer lines than pairs."""
    lines = open_lines(path, cache=cache)
    if len(lines) != num_pairs:
        raise input_error(
            f"{path}: has another number of lines than its corpus has pairs",
            got=f"{len(lines):,} lines for {num_pairs:,} pairs",
            allowed="one line for each pair",
            fix="align the corpus again; an empty line stands for a pair without links",
        )
    return WordAlignments(lines)


@runtime_checkable
class HasAlignments(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def alignments(self) -> WordAlignments | None:
        """Those of its words, where it has any."""
        ...


@dataclass(frozen=True, slots=True)
class LinksTokens:
    """How words are known in ids."""

    source_begins: Bool[np.ndarray, "source_ids"]
    target_begins: Bool[np.ndarray, "target_ids"]
    """For each id, whether it begins a word: see `words.begins_word`."""

    def rows(
        self,
        corpora: Sequence[HasAlignments],
        places: Places,
        texts: Sequence[tuple[str, str]],
        source: Ragged,
        target: Ragged,
        *,
        num_tags: Int[np.ndarray, "examples"],
    ) -> Ragged:
        """For each example its pairs of linked tokens, target and source in turn, all in one row.

        None where its corpus has no alignments, and where the tokenizer sees other words than white space separates.
        """
        rows: list[list[int]] = []
        for number, pair in enumerate(texts):
            aligned = corpora[int(places.corpus[number])].alignments
            rows.append([])
            if aligned is None:
                continue
            sides = (
                words_of(source.row(number), self.source_begins, num_tags=int(num_tags[number])),
                words_of(target.row(number), self.target_begins),
            )
            counts = [num_words(side) for side in sides]
            links = aligned.links(int(places.line[number]))
            if counts == [len(text.split()) for text in pair] and (links < counts).all():
                rows[-1] = token_links(links, *sides).ravel().tolist()
        return Ragged.of(rows)


def plan_links(source: SentencePiece, target: SentencePiece) -> LinksTokens:
    """For the tokenizers of a run."""
    return LinksTokens(begins_word(source), begins_word(target))


def token_links(
    links: Int[np.ndarray, "links 2"],
    source_words: Int[np.ndarray, "sources"],
    target_words: Int[np.ndarray, "targets"],
) -> Int[np.ndarray, "pairs 2"]:
    """Target and source token of each pair of tokens whose words are linked, by target; -1 is no word."""
    if not len(links):
        return np.zeros((0, 2), np.int64)
    num_sources, num_targets = (int(words.max(initial=-1)) + 1 for words in (source_words, target_words))
    linked = np.zeros((num_targets + 1, num_sources + 1), bool)  # the last of each belongs to -1
    linked[links[:, 1], links[:, 0]] = True
    return np.argwhere(linked[target_words][:, source_words])
