"""Rows of language models: documents in pieces of at most `max_tokens`, and pairs as source, separator, target."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from trimtab.config.data import DataConfig
from trimtab.config.tokenizer import ByteTokenizer
from trimtab.data.chunk import BYTES_PER_TOKEN, LEAST_ROOM, Chunk, TransformsPairs
from trimtab.data.exact_text import ExactText
from trimtab.data.formats.chat import Conversation, Message
from trimtab.data.formats.passage import Passage
from trimtab.data.id_filter import TOO_LONG
from trimtab.data.mixture import Mixture
from trimtab.data.transforms.apply import EMPTY_SOURCE, EMPTY_TARGET, Dropped
from trimtab.types import DroppedExample, Ragged

PASSAGE_ROWS = 4
"""A passage fills about so many rows: a step then holds parts of many documents, and few rows are short because a
passage ends."""
USUAL_BYTES_PER_TOKEN = 4
"""Of sentencepiece and English; a passage of another language has a few more rows, or fewer."""
PASSAGES = f"{PASSAGE_ROWS} rows, {USUAL_BYTES_PER_TOKEN} bytes a token"
"""How documents are cut, as a checkpoint says it: a run continues only with what cuts them so."""
PARTS = 1 << 17
"""Rows that a passage can have at most, and so how finely a position of the stream is divided."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the model reads at once."""

    ids: Sequence[int]
    prompt: int
    """How many of its first ids are given and do not count in the loss."""


class LineRows(NamedTuple):
    """What a line of a corpus gives."""

    rows: list[Row]
    dropped: Sequence[str] = ()
    """The reason of each example of it that is not learned."""
    said: str = ""
    """What a chat template says where it refuses one."""


@runtime_checkable
class WritesChats(Protocol):
    """Turns conversations into rows; see `chat_rows.ChatRows`."""

    def rows(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> LineRows:
        """A row for each answer that is learned, and why others are not."""
        ...


@runtime_checkable
class ReadsTexts(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def has_documents(self) -> bool:
        """Whether it has passages, rather than pairs."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Put before each source."""
        ...

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def num_bytes(self, line: int) -> int:
        """Bytes that must be read for a line."""
        ...

    @property
    def learns_answers(self) -> bool:
        """Whether its documents are conversations, of which the answers count."""
        ...

    def conversation(self, line: int) -> Conversation:
        """That of a line."""
        ...

    def passage(self, line: int) -> Passage:
        """A passage of a document."""
        ...

    def pair(self, line: int) -> tuple[str, str]:
        """Source and target."""
        ...


@dataclass(frozen=True, slots=True)
class TextFeed:
    """All that turns positions into rows; may be pickled where its parts may. See `chunk.Feed`.

    A document begins behind the start symbol and ends with the end symbol. Where it continues in another row, that row
    begins with the start symbol too, and then with the token before, which is given and does not count: so the start
    symbol keeps its meaning (nothing but a document's first token is learned behind it), every token of a document
    counts exactly once, and attention always finds the start symbol at the first place, as when a text is generated.
    """

    corpora: Sequence[ReadsTexts]
    pipeline: TransformsPairs
    """What is done to pairs."""
    tokenizer: ExactText
    mixture: Mixture
    max_tokens: int
    """Longest row, the end symbol included."""
    separator: int | None = None
    """Id of what stands between source and target; None if there are no pairs."""
    chats: WritesChats | None = None
    """Turns conversations into rows; None if there are none whose answers alone count."""

    parts_per_position: ClassVar[int] = PARTS
    positions_per_chunk: ClassVar[int] = 128
    """A passage is much longer than a line."""
    sample_positions: ClassVar[int] = 1024
    shares_length: ClassVar[bool] = True
    within_slack: ClassVar[float] = 1.02
    """Rows that continue with a document are given one token each; a pack has room for a twentieth more than its
    share."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """Nothing: how documents are cut is said with each corpus."""
        return {}

    def chunk(self, *, start: int, count: int) -> Chunk:
        """The rows of the positions from `start` to `start + count`; a function of its arguments alone. Their position
        in the stream is `PARTS` times that of the passage, and the number of the row in it.

        InputError if something cannot be read, as the corpus says it.
        """
        places = self.mixture.at(np.arange(start, start + count))
        found = list(self.rows(places.corpus.tolist(), places.line.tolist()))
        rows = [row for each in found for row in each.rows]
        counts = np.array([len(each.rows) for each in found], np.int64)
        assert counts.max(initial=0) < PARTS, "a passage of too many rows"
        parts = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        gone = [(place, reason) for place, each in enumerate(found) for reason in each.dropped]
        return Chunk(
            source=no_source(len(rows)),
            target=Ragged.of([row.ids for row in rows]),
            corpus=np.repeat(places.corpus, counts),
            line=np.repeat(places.line, counts),
            position=np.repeat((start + np.arange(count)) * PARTS, counts) + parts,
            dropped=tuple(
                DroppedExample(int(places.corpus[place]), int(places.line[place]), reason)
                for place, reason in gone
            ),
            dropped_position=np.array([(start + place) * PARTS for place, _ in gone], np.int64),
            prompt=np.array([row.prompt for row in rows], np.int32),
        )

    def rows(self, corpora: Sequence[int], lines: Sequence[int]) -> Iterator[LineRows]:
        """What each line of a corpus gives; only pairs and conversations are dropped."""
        numbers = list(zip(corpora, lines, strict=True))
        kinds = [self.corpora[corpus] for corpus, _ in numbers]
        passages = [
            None if kind.learns_answers or not kind.has_documents else kind.passage(line)
            for kind, (_, line) in zip(kinds, numbers, strict=True)
        ]
        of_documents = iter(
            rows_of_passages([each for each in passages if each], self.tokenizer, self.max_tokens)
        )
        of_pairs = iter(
            self.rows_of_pairs(
                [one for one, kind in zip(numbers, kinds, strict=True) if not kind.has_documents]
            )
        )
        for passage, kind, (_, line) in zip(passages, kinds, numbers, strict=True):
            if kind.learns_answers:
                assert self.chats is not None, "conversations, and no template"
                yield self.chats.rows(*kind.conversation(line))
            else:
                rows = next(of_documents if passage else of_pairs)
                yield LineRows([], [rows]) if isinstance(rows, str) else LineRows(rows)

    def rows_of_pairs(self, numbers: Sequence[tuple[int, int]]) -> Iterator[list[Row] | str]:
        """The row of the pair at each place, a corpus and a line of it; why it is dropped where it has an empty side
        or is too long."""
        corpora = [self.corpora[corpus] for corpus, _ in numbers]
        found = [self.pair_at(*number) for number in numbers]
        whole = [
            (pair, corpus.tags)
            for pair, corpus in zip(found, corpora, strict=True)
            if not isinstance(pair, str)
        ]
        rows: Iterator[Row] = iter(())
        if whole:
            assert self.separator is not None, "pairs, and no separator"
            rows = iter(pair_rows(whole, tokenizer=self.tokenizer, separator=self.separator))
        for pair, corpus in zip(found, corpora, strict=True):
            yield pair if isinstance(pair, str) else self.kept(next(rows), tags=corpus.tags)

    def pair_at(self, number: int, line: int) -> tuple[str, str] | str:
        """Source and target of a line of a corpus after the transforms, or why they are dropped."""
        corpus = self.corpora[number]
        if corpus.num_bytes(line) > BYTES_PER_TOKEN * max(LEAST_ROOM, self.max_tokens):
            return TOO_LONG
        pair = self.pipeline.of(number).apply(*corpus.pair(line), None, line)
        return pair.reason if isinstance(pair, Dropped) else pair

    def kept(self, row: Row, *, tags: Sequence[str]) -> list[Row] | str:
        """The row, or why it is dropped."""
        if row.prompt <= len(tags) + 1:
            return EMPTY_SOURCE
        if len(row.ids) <= row.prompt + 1:
            return EMPTY_TARGET
        return [row] if len(row.ids) <= self.max_tokens else TOO_LONG


def pair_rows(
    pairs: Iterable[tuple[tuple[str, str], Sequence[str]]], *, tokenizer: ExactText, separator: int
) -> list[Row]:
    """For source and target of a pair, with their tags: tags, source and separator, which are given, then the target
    and the end symbol. All are encoded at once, since a call of a tokenizer takes as long as some lines do."""
    pairs = list(pairs)
    sides = iter(tokenizer.ids([side for pair, _ in pairs for side in pair]))
    rows: list[Row] = []
    for _, tags in pairs:
        given = [*(tokenizer.inner.id(tag) for tag in tags), *next(sides), separator]
        rows.append(Row([*given, *next(sides), tokenizer.end], len(given)))
    return rows


def rows_of_passages(passages: Sequence[Passage], tokenizer: ExactText, max_tokens: int) -> list[list[Row]]:
    """The rows of each passage; every token of it counts in one of them, and the end symbol where its document ends."""
    ids = tokenizer.ids([passage.text for passage in passages])
    going_on = [passage for passage in passages if passage.before]
    before = iter(tokenizer.ids([passage.before for passage in going_on]))
    rows: list[list[Row]] = []
    for passage, row in zip(passages, ids, strict=True):
        given = next(before)[-1:] if passage.before else []
        rows.append(split([*row, tokenizer.end] if passage.ends else row, max_tokens, given=given))
    return rows


def split(ids: list[int], max_tokens: int, *, given: list[int]) -> list[Row]:
    """Ids in rows of at most `max_tokens`, all full but the last; each begins with the id before it, where there is
    one: for the first row that is in `given`, or it is empty."""
    rows: list[Row] = []
    start = 0
    while start < len(ids):
        stop = start + max_tokens - len(given)
        rows.append(Row([*given, *ids[start:stop]], len(given)))
        start, given = stop, ids[stop - 1 : stop]
    return rows


def passage_bytes(config: DataConfig) -> int:
    """How long a passage may be."""
    each = 1 if isinstance(config.tokenizer, ByteTokenizer) else USUAL_BYTES_PER_TOKEN
    return PASSAGE_ROWS * each * config.max_tokens


def no_source(count: int) -> Ragged:
    """So many empty rows."""
    return Ragged(np.empty(0, np.int32), np.zeros(count + 1, np.int64))
