"""Documents in, translations of their sentences out, each as soon as it is done."""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from trimtab.decode.block import LINE_BREAKS, translate_block
from trimtab.decode.document_context import DocumentContext, Written, with_context
from trimtab.decode.document_search import ENOUGH_TO_JOIN, DocumentSearch, document_search
from trimtab.decode.hypothesis import Hypothesis
from trimtab.decode.lines import translate_lines
from trimtab.decode.longline import ROOM
from trimtab.decode.prefilled import Given
from trimtab.decode.rows import Row
from trimtab.decode.sample import Draw
from trimtab.decode.setup import TranslationCounts, TranslationSetup

MOST_WAITING = 1024
"""Documents that are open, or translated and waiting for one that came before them."""


@dataclass(slots=True)
class DocumentCounts(TranslationCounts):
    """What happened so far."""

    documents: int = 0
    chunks: int = 0
    """Rows of several sentences given to the model."""
    misaligned: int = 0
    """Chunks whose translation has more or fewer sentences than they have, so that it was shared out by length."""


def translate_documents(
    documents: Iterable[Iterable[str]],
    setup: TranslationSetup,
    context: DocumentContext,
    *,
    side_by_side: int = 1,
    counts: DocumentCounts | None = None,
) -> Iterator[tuple[int, str]]:
    """The translation of every sentence, in order, with the number of its document.

    At most `side_by_side` documents are open at a time and translated together; none waits for the sentences of
    another. Of each no more is read than is translated next: one sentence, or a chunk of them for a model of whole
    chunks. So with one document open, the first translation is there before the second sentence is read.

    A model that was trained on sentences needs none of this: several documents are then translated as lines are, in
    blocks that are read ahead. (Samples are not: there, the document says which random numbers a sentence has.)
    """
    counts = counts if counts is not None else DocumentCounts()
    alone = not context.whole and context.sentences == 0
    if alone and side_by_side > 1 and setup.search.sampling is None:
        yield from _as_lines(documents, setup, counts)
        return
    waiting = enumerate(documents)
    search = document_search(setup, counts, side_by_side=side_by_side)
    opened: list[_Document] = []
    while True:
        capacity = side_by_side - sum(each.running or not each.ended for each in opened)
        for number, sentences in islice(waiting, max(0, min(capacity, MOST_WAITING - len(opened)))):
            opened.append(_Document(number, iter(sentences)))
            counts.documents += 1
        if not opened:
            return
        idle = [each for each in opened if not each.ended and not each.running]
        if len(idle) > ENOUGH_TO_JOIN * (len(idle) + len(search)) or not len(search):
            _read_on(idle, search, setup, context, counts)
        if len(search):
            _take(search.advance(), setup, context, counts)
        # What comes out is in the order of the documents; later ones wait for the first.
        while opened:
            first = opened[0]
            for text in first.done:
                yield first.number, text
            first.done.clear()
            if first.running or not first.ended:
                break
            opened.pop(0)


def _as_lines(
    documents: Iterable[Iterable[str]], setup: TranslationSetup, counts: DocumentCounts
) -> Iterator[tuple[int, str]]:
    """The same for sentences that are translated by themselves."""
    numbers: deque[int] = deque()

    def sentences() -> Iterator[str]:
        for number, document in enumerate(documents):
            counts.documents += 1
            for sentence in document:
                numbers.append(number)
                yield _whole_characters(sentence)

    for text in translate_lines(sentences(), setup, counts=counts):
        yield numbers.popleft(), text


@dataclass(slots=True, eq=False)
class _Document:
    number: int
    sentences: Iterator[str]
    before: list[Written] = field(default_factory=list)
    """The last sentences that are translated."""
    next: list[str] = field(default_factory=list)
    """What is translated next, as text."""
    ids: list[list[int]] = field(default_factory=list)
    """And as ids, tags and end symbol included."""
    left: tuple[str, list[int]] | None = None
    """A sentence that was read and did not fit."""
    done: list[str] = field(default_factory=list)
    """Translations that are not given out yet."""
    ended: bool = False
    running: bool = False
    """Whether the search has its next row."""
    place: int = 0
    """Sentences translated so far."""

    def read_on(self, setup: TranslationSetup, context: DocumentContext) -> bool:
        """Reads what is translated next; whether there is anything."""
        self.next, self.ids = [], []
        most = context.sentences + 1 if context.whole else 1
        capacity = int(setup.max_tokens * ROOM) if context.whole else setup.max_tokens
        while not self.ended and len(self.next) < most:
            sentence = self._read(setup)
            if sentence is None:
                self.ended = True
                break
            capacity -= len(sentence[1]) - (context.num_tags if self.ids else 0)
            if self.ids and capacity < 0:
                self.left = sentence
                break
            self.next.append(sentence[0])
            self.ids.append(sentence[1])
        return bool(self.next)

    def _read(self, setup: TranslationSetup) -> tuple[str, list[int]] | None:
        if self.left is not None:
            sentence, self.left = self.left, None
            return sentence
        for line in islice(self.sentences, 1):
            text = setup.normalise(_whole_characters(line))
            return line, setup.tokenizer.encode([text if text.strip() else ""])[0]
        return None

    def keep(self, parts: Sequence[Sequence[int]], context: DocumentContext) -> None:
        """Adds what was translated to the sentences before."""
        for ids, part in zip(self.ids, parts, strict=True):
            self.place += 1
            self.before = [*self.before, Written(_content(ids, context), part)][-max(1, context.sentences) :]


def _read_on(
    idle: Sequence["_Document"],
    search: DocumentSearch,
    setup: TranslationSetup,
    context: DocumentContext,
    counts: DocumentCounts,
) -> None:
    """Reads what documents have next and gives it to the search, as long as that has room."""
    for document in idle:
        if search.is_full and len(search):
            return
        if not document.read_on(setup, context):
            continue
        if _fits(document, setup, context):
            search.put(document, _row(document, setup, context))
            document.running = True
        else:
            document.done.extend(translate_block(document.next, setup, counts=counts))
            document.keep([()] * len(document.ids), context)


def _take(
    found: Sequence[tuple[Hashable, Hypothesis]],
    setup: TranslationSetup,
    context: DocumentContext,
    counts: DocumentCounts,
) -> None:
    """Gives documents the translations of what they had next; all become text at once, for a call costs more than a
    sentence."""
    taken: list[tuple[_Document, list[list[int]]]] = []
    for document, hypothesis in found:
        assert isinstance(document, _Document)
        taken.append((document, _parts(document, hypothesis.ids, context, counts)))
    texts = iter(setup.tokenizer.decode([part for _, parts in taken for part in parts]) if taken else ())
    for document, parts in taken:
        document.done.extend(LINE_BREAKS.sub(" ", text) for text in islice(texts, len(parts)))
        document.keep(parts, context)
        document.running = False


def _fits(document: _Document, setup: TranslationSetup, context: DocumentContext) -> bool:
    """Whether the model can read it in one row, and finds something in it; else it is translated as lines are."""
    content = [_content(ids, context) for ids in document.ids]
    return any(content) and sum(len(each) + 1 for each in content) + context.num_tags <= setup.max_tokens


def _content(ids: Sequence[int], context: DocumentContext) -> Sequence[int]:
    return ids[context.num_tags : -1]


def _row(document: _Document, setup: TranslationSetup, context: DocumentContext) -> Row:
    draw = Draw(document.number, document.place)
    if not context.whole:
        own = document.ids[0]
        ids, target = with_context(own, document.before, context, max_tokens=setup.max_tokens)
        return Row(ids=ids, given=Given(target=target, own_tokens=len(own)), draw=draw)
    # Sentences with nothing in them were never part of a chunk in training.
    *first, last = [ids for ids in document.ids if _content(ids, context)]
    row = [id for ids in first for id in (*_content(ids, context), context.source_separator)]
    return Row(ids=[*last[: context.num_tags], *row, *last[context.num_tags :]], draw=draw)


def _parts(
    document: _Document, ids: Sequence[int], context: DocumentContext, counts: DocumentCounts
) -> list[list[int]]:
    """For each sentence its translation in ids; nothing for one with nothing in it."""
    counts.lines += len(document.ids)
    if not context.whole:
        return [[id for id in ids if id != context.target_separator]]
    lengths = [len(content) for each in document.ids if (content := _content(each, context))]
    parts = split_at(ids, context.target_separator)
    counts.chunks += 1
    counts.misaligned += len(parts) != len(lengths)
    shared = iter(shared_out(parts, lengths))
    return [next(shared) if _content(each, context) else [] for each in document.ids]


def _whole_characters(line: str) -> str:
    """The line with a replacement character in place of each half of one."""
    if line.isascii():
        return line
    return line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def split_at(ids: Sequence[int], separator: int) -> list[list[int]]:
    """The parts of a row between separators; one more than there are separators."""
    parts: list[list[int]] = [[]]
    for id in ids:
        if id == separator:
            parts.append([])
        else:
            parts[-1].append(id)
    return parts


def shared_out(parts: Sequence[Sequence[int]], source_lengths: Sequence[int]) -> list[list[int]]:
    """For each source sentence its part of the translation; where there are not as many, by their lengths.

    A part then belongs to the sentence in which the middle of it lies, both sides taken as equally long; so the order
    is kept, nothing is lost, and some sentences may have several parts or none.
    """
    if len(parts) == len(source_lengths):
        return [list(part) for part in parts]
    shared: list[list[int]] = [[] for _ in source_lengths]
    total, written = sum(source_lengths), sum(map(len, parts))
    ends = list(accumulate(source_lengths))
    place, start = 0, 0
    for part in parts:
        middle = start + len(part) / 2
        while place < len(ends) - 1 and middle * total >= ends[place] * written:
            place += 1
        shared[place].extend(part)
        start += len(part)
    return shared
