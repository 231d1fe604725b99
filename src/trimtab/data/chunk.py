"""A run of positions of the stream as ids: read, transformed, tokenised, measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from trimtab.data.id_filter import reasons_in_ids
from trimtab.data.mixture import Mixture, Places
from trimtab.data.order import random_stream
from trimtab.data.transforms.apply import Dropped
from trimtab.flow import DroppedExample, Ragged


@runtime_checkable
class ReadsPairs(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def tags(self) -> Sequence[str]:
        """Put before each source."""
        ...

    def pair(self, line: int) -> tuple[str, str]:
        """Source and target; InputError where the line cannot be read."""
        ...


@runtime_checkable
class TransformsPairs(Protocol):
    """A pipeline of transforms, as far as it matters here."""

    @property
    def needs_random(self) -> bool:
        """Whether `apply` must be given a generator."""
        ...

    def apply(self, source: str, target: str, rng: Generator | None) -> tuple[str, str] | Dropped:
        """The pair transformed, or why it is dropped."""
        ...


@runtime_checkable
class EncodesLines(Protocol):
    """A tokenizer, as far as it matters here."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, end symbol included."""
        ...

    def encode_with_tags(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """Ids of the tags before those of each line."""
        ...


@dataclass(frozen=True, slots=True)
class Feed:
    """All that turns positions into ids; may be pickled where its parts may."""

    corpora: Sequence[ReadsPairs]
    pipeline: TransformsPairs
    tokenizer: EncodesLines
    mixture: Mixture
    max_tokens: int
    """Longest side in tokens, tags and end symbol included; what is longer is dropped."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The examples at a run of positions, in order, and those among them that were dropped."""

    source: Ragged
    target: Ragged
    corpus: np.ndarray
    """Number of the corpus of each example that was kept, int32."""
    line: np.ndarray
    """Its line in the corpus, from 0, int64."""
    position: np.ndarray
    """Its position in the stream, int64."""
    dropped: tuple[DroppedExample, ...]
    dropped_position: np.ndarray
    """Position in the stream of each example that was dropped, int64."""


def encode_chunk(feed: Feed, *, start: int, count: int) -> Chunk:
    """The chunk of the positions from `start` to `start + count`; a function of its arguments alone.

    InputError where a line cannot be read, as the corpus says it.
    """
    places = feed.mixture.at(np.arange(start, start + count))
    sources, targets, reasons = _read(feed, places)
    read = np.flatnonzero([reason == "" for reason in reasons])
    source = Ragged.of(_encode_sources(feed, places.corpus[read], sources))
    target = Ragged.of(feed.tokenizer.encode(targets))
    num_tags = np.array([len(corpus.tags) for corpus in feed.corpora])[places.corpus[read]]
    found = reasons_in_ids(source, target, num_tags=num_tags, max_tokens=feed.max_tokens)
    for place, reason in zip(read.tolist(), found, strict=True):
        reasons[place] = reason
    fits = np.flatnonzero([reason == "" for reason in found])
    kept = read[fits]
    gone = np.flatnonzero([reason != "" for reason in reasons])
    return Chunk(
        source=source.take(fits),
        target=target.take(fits),
        corpus=places.corpus[kept],
        line=places.line[kept],
        position=start + kept,
        dropped=tuple(
            DroppedExample(int(places.corpus[place]), int(places.line[place]), reasons[place])
            for place in gone
        ),
        dropped_position=start + gone,
    )


def _read(feed: Feed, places: Places) -> tuple[list[str], list[str], list[str]]:
    """Sources and targets that passed the transforms, and for every place the reason it was dropped, or nothing."""
    sources: list[str] = []
    targets: list[str] = []
    reasons: list[str] = []
    needs_random, seed, rng = feed.pipeline.needs_random, feed.mixture.seed, None
    for corpus, line, turn in zip(
        places.corpus.tolist(), places.line.tolist(), places.turn.tolist(), strict=True
    ):
        source, target = feed.corpora[corpus].pair(line)
        if needs_random:
            rng = random_stream(seed, turn, corpus, line)
        pair = feed.pipeline.apply(source, target, rng)
        if isinstance(pair, Dropped):
            reasons.append(pair.reason)
        else:
            sources.append(pair[0])
            targets.append(pair[1])
            reasons.append("")
    return sources, targets, reasons


def _encode_sources(feed: Feed, corpus: np.ndarray, lines: list[str]) -> list[list[int]]:
    """Ids of each line behind the tags of its corpus, with one call to the tokenizer for each corpus."""
    rows: list[list[int]] = [[]] * len(lines)
    for number in np.unique(corpus).tolist():
        places = np.flatnonzero(corpus == number).tolist()
        encoded = feed.tokenizer.encode_with_tags(
            [lines[place] for place in places], feed.corpora[number].tags
        )
        for place, row in zip(places, encoded, strict=True):
            rows[place] = row
    return rows
