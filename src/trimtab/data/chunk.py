"""A run of positions of the stream as ids: read, transformed, tokenised, measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from trimtab.data.factored_pieces import FactoredPieces
from trimtab.data.id_filter import TOO_LONG, reasons_in_ids
from trimtab.data.mixture import Mixture, Places
from trimtab.data.noises import Noises
from trimtab.data.order import random_stream
from trimtab.data.subword_sampling import DRAWN_BY, SubwordSampling
from trimtab.data.transforms.apply import Dropped
from trimtab.data.word_alignments import LinksTokens
from trimtab.errors import RunFailed, TrimtabError
from trimtab.types import DroppedExample, Ragged

BYTES_PER_TOKEN = 256
"""A line of more bytes for each token that is allowed is dropped unread: four times what sixteen characters of four
bytes take, the longest piece that sentencepiece learns by itself."""
LEAST_ROOM = 1024
"""Tokens for which there is room in any case, so that short limits do not drop what a transform makes short."""

# What a random stream is for; the transforms of texts have theirs without such a number.
_NOISE = 1


@runtime_checkable
class ReadsPairs(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Put before each source."""
        ...

    def num_bytes(self, line: int) -> int:
        """Bytes that must be read for a line, known without reading it."""
        ...

    def pair(self, line: int) -> tuple[str, str]:
        """Source and target; InputError if the line cannot be read."""
        ...


@runtime_checkable
class TransformsPairs(Protocol):
    """A pipeline of transforms, as far as it matters here."""

    @property
    def needs_random(self) -> bool:
        """Whether `apply` must be given a generator."""
        ...

    def of(self, corpus: int) -> "TransformsPairs":
        """What is done to the pairs of a corpus, by its number."""
        ...

    def apply(
        self, source: str, target: str, rng: Generator | None, line: int | None = None
    ) -> tuple[str, str] | Dropped:
        """The pair of a line transformed, or why it is dropped."""
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


@runtime_checkable
class PutsContext(Protocol):
    """Puts the context of an example in its document before its ids."""

    def added(
        self, source: Ragged, target: Ragged, places: Places, *, num_tags: np.ndarray, seed: int
    ) -> tuple[Ragged, Ragged, np.ndarray]:
        """The rows behind their contexts, and how many leading target tokens of each do not count, int32."""
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
    source_tokenizer: EncodesLines | None = None
    """Of the sources, where they do not share `tokenizer`."""
    source_sampling: SubwordSampling | None = None
    """How sources are split by chance; not at all by default."""
    target_sampling: SubwordSampling | None = None
    noises: Noises = ()
    """What damages the sources of each corpus; nothing by default."""
    contexts: PutsContext | None = None
    """What puts sentences of the same document before examples."""
    links: LinksTokens | None = None
    """What finds the tokens that are aligned, where alignments are learned."""

    parts_per_position: ClassVar[int] = 1
    """A position of the stream is one example."""
    positions_per_chunk: ClassVar[int] = 1024
    sample_positions: ClassVar[int] = 4096
    shares_length: ClassVar[bool] = False
    within_slack: ClassVar[float] = 1.0

    @property
    def fingerprints(self) -> dict[str, str]:
        """How splits are drawn, where they are."""
        drawn = self.source_sampling or self.target_sampling
        return {"how this version of trimtab draws splits": DRAWN_BY} if drawn else {}

    def chunk(self, *, start: int, count: int) -> "Chunk":
        """The chunk of the positions from `start` to `start + count`; see `encode_chunk`."""
        return encode_chunk(self, start=start, count=count)

    @property
    def most_bytes(self) -> int:
        """A line of more is too long, whatever it contains."""
        return BYTES_PER_TOKEN * max(LEAST_ROOM, self.max_tokens)


@runtime_checkable
class MakesChunks(Protocol):
    """What turns positions into ids, of pairs or of documents: `Feed` or `text_rows.TextFeed`."""

    @property
    def corpora(self) -> Sequence["Named"]:
        """What is read."""
        ...

    @property
    def mixture(self) -> Mixture:
        """Which corpus and line are at a position."""
        ...

    @property
    def parts_per_position(self) -> int:
        """By how much a position is smaller than that of a chunk's examples, of which it may hold so many."""
        ...

    @property
    def max_tokens(self) -> int:
        """Length of the longest row."""
        ...

    @property
    def positions_per_chunk(self) -> int:
        """How many positions are read at once."""
        ...

    @property
    def sample_positions(self) -> int:
        """How many first positions lengths and shares are estimated from."""
        ...

    @property
    def shares_length(self) -> bool:
        """Whether source and target share `max_tokens`."""
        ...

    @property
    def within_slack(self) -> float:
        """Tokens for each one that counts for which packs have room by their slack alone."""
        ...

    @property
    def fingerprints(self) -> dict[str, str]:
        """What of it must not change when a run resumes, by name."""
        ...

    def chunk(self, *, start: int, count: int) -> "Chunk":
        """The chunk of so many positions; a function of its arguments alone."""
        ...


@runtime_checkable
class Named(Protocol):
    """The part of a corpus that errors about a chunk need."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...


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
    """Its position in the stream, int64; where a position has parts, so many times as large, and the part's number."""
    dropped: tuple[DroppedExample, ...]
    dropped_position: np.ndarray
    """Position in the stream of each example that was dropped, int64."""
    prompt: np.ndarray
    """How many leading target tokens of each example do not count in the loss, int32; fewer than it has."""
    links: Ragged | None = None
    """The aligned tokens of each example, target and source in turn; None where no alignments are learned."""

    @property
    def counted(self) -> np.ndarray:
        """Target tokens that count, added up: of the examples before each, and of all; int64."""
        ends = self.target.offsets.copy()
        ends[1:] -= np.cumsum(self.prompt, dtype=np.int64)
        return ends


def encode_chunk(feed: Feed, *, start: int, count: int) -> Chunk:
    """The chunk of the positions from `start` to `start + count`; a function of its arguments alone.

    InputError if a line cannot be read, as the corpus says it.
    """
    places = feed.mixture.at(np.arange(start, start + count))
    sources, targets, reasons = _read(feed, places)
    read = np.flatnonzero([reason == "" for reason in reasons])
    passed = places.take(read)
    source = Ragged.of(_encode_sources(feed, sources, passed))
    target = Ragged.of(_encode(feed.tokenizer, targets, feed.target_sampling, passed))
    num_tags = np.array([len(corpus.tags) for corpus in feed.corpora])[places.corpus[read]]
    found = reasons_in_ids(source, target, num_tags=num_tags, max_tokens=feed.max_tokens)
    for place, reason in zip(read.tolist(), found, strict=True):
        reasons[place] = reason
    fits = np.flatnonzero([reason == "" for reason in found])
    kept = read[fits]
    gone = np.flatnonzero([reason != "" for reason in reasons])
    source, target, prompt = source.take(fits), target.take(fits), np.zeros(len(fits), np.int32)
    links = None
    if feed.links is not None:
        texts = [(sources[place], targets[place]) for place in fits.tolist()]
        links = feed.links.rows(
            feed.corpora, places.take(kept), texts, source, target, num_tags=num_tags[fits]
        )
    if feed.contexts is not None:
        source, target, prompt = feed.contexts.added(
            source, target, places.take(kept), num_tags=num_tags[fits], seed=feed.mixture.seed
        )
    return Chunk(
        source=source,
        target=target,
        corpus=places.corpus[kept],
        line=places.line[kept],
        position=start + kept,
        dropped=tuple(
            DroppedExample(int(places.corpus[place]), int(places.line[place]), reasons[place])
            for place in gone
        ),
        dropped_position=start + gone,
        prompt=prompt,
        links=links,
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
        if feed.corpora[corpus].num_bytes(line) > feed.most_bytes:
            reasons.append(TOO_LONG)
            continue
        if needs_random:
            rng = random_stream(seed, turn, corpus, line)
        pair = _transformed(feed, corpus, line, rng)
        if isinstance(pair, Dropped):
            reasons.append(pair.reason)
        else:
            sources.append(pair[0])
            targets.append(pair[1])
            reasons.append("")
    return sources, targets, reasons


def _transformed(feed: Feed, corpus: int, line: int, rng: Generator | None) -> tuple[str, str] | Dropped:
    source, target = feed.corpora[corpus].pair(line)
    try:
        return feed.pipeline.of(corpus).apply(source, target, rng, line)
    except TrimtabError:
        raise
    except Exception as error:
        raise RunFailed(
            f"data.transforms: {feed.corpora[corpus].name}, line {line + 1} cannot be transformed\n"
            f"  got     {type(error).__name__}: {error}\n"
            "  fix     remove the line or change the transform, and start a new run, since the data has changed"
        ) from error


def _encode_sources(feed: Feed, lines: list[str], places: Places) -> list[list[int]]:
    """Ids of each line behind the tags of its corpus, damaged where the corpus has noise."""
    tokenizer, seed = feed.source_tokenizer or feed.tokenizer, feed.mixture.seed
    rows = _encode(tokenizer, lines, feed.source_sampling, places)
    tags = [tokenizer.encode_with_tags([""], corpus.tags)[0][:-1] for corpus in feed.corpora]
    numbers = zip(places.corpus.tolist(), places.line.tolist(), places.turn.tolist(), strict=True)
    for place, (corpus, line, turn) in enumerate(numbers):
        if noises := feed.noises[corpus] if feed.noises else ():
            rng = random_stream(seed, turn, corpus, line, _NOISE)
            *ids, end = rows[place]
            for noise in noises:
                ids = noise.spoil(ids, rng)
            rows[place] = [*ids, end]
        if tags[corpus]:
            rows[place] = tags[corpus] + rows[place]
    return rows


def _encode(
    tokenizer: EncodesLines, lines: list[str], sampling: SubwordSampling | None, places: Places
) -> list[list[int]]:
    """Ids of each line, split by chance where there is a sampling."""
    if sampling is None:
        return tokenizer.encode(lines)
    split = partial(sampling.encode, places=places)
    return tokenizer.encode_by(split, lines) if isinstance(tokenizer, FactoredPieces) else split(lines)
