"""A validation set, whole, as text and as ids."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass

import numpy as np

from trimtab.data.corpus import Corpus
from trimtab.data.id_filter import TOO_LONG, fix_for_dropped
from trimtab.data.lines import refuse_long_lines
from trimtab.data.text_rows import Row, TextFeed, no_source, pair_rows, rows_of_passages
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import Pipeline
from trimtab.errors import input_error
from trimtab.metrics.metric import BleuTokenizer
from trimtab.types import Ragged


@dataclass(frozen=True, slots=True)
class ValidSet:
    """A validation set as text and as ids."""

    name: str
    sources: list[str]
    references: list[str]
    tags: tuple[str, ...]
    bleu_tokenizer: BleuTokenizer
    source: Ragged
    target: Ragged
    """Ids of the pairs that fit into `max_tokens`; the loss is measured on these."""
    too_long: int
    """Pairs that do not fit, which are translated in pieces, but have no loss; or answers that are not measured."""
    prompt: np.ndarray | None = None
    """For each row of a language model, how many leading target tokens do not count, int32; None for none."""
    num_bytes: int = 0
    """Bytes of UTF-8 of the text whose loss is measured, where it is a language model's."""
    documents: Corpus | None = None
    """What it was read from, where that is documents of a language model."""

    @property
    def rows(self) -> int:
        """Rows that the loss is measured on."""
        return len(self.target)

    @property
    def fingerprint(self) -> str:
        """What its scores depend on: how many pairs, and a sha256 of their text, their ids, tags and tokenizer."""
        mark = hashlib.sha256(
            json.dumps([self.sources, self.references, self.tags, self.bleu_tokenizer]).encode()
        )
        for rows in (self.source, self.target):
            mark.update(np.ascontiguousarray(rows.values))
            mark.update(np.ascontiguousarray(rows.offsets))
        return f"{len(self.sources) or self.rows:,} pairs or rows, sha256 {mark.hexdigest()[:32]}"

    @property
    def targets(self) -> int:
        """Target tokens that count in the loss."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))


def read_valid(
    name: str,
    corpus: Corpus,
    pipeline: Pipeline,
    tokenizers: Tokenizers,
    *,
    max_tokens: int,
    bleu: BleuTokenizer,
) -> ValidSet:
    """A validation set, whole: filters are not applied to it, normalisation is. InputError where no pair fits into
    `max_tokens`."""
    refuse_long_lines(corpus, name=f"data.valid: {name}")
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    source = Ragged.of(
        tokenizers.source.encode_with_tags([pipeline.apply_source(line) for line in sources], corpus.tags)
    )
    target = Ragged.of(tokenizers.target.encode([pipeline.apply_reference(*pair) for pair in pairs]))
    fits = np.flatnonzero((source.lengths <= max_tokens) & (target.lengths <= max_tokens))
    _refuse_empty(name, corpus, [TOO_LONG] if not len(fits) else [], max_tokens=max_tokens)
    return ValidSet(
        name=name,
        sources=sources,
        references=references,
        tags=corpus.tags,
        bleu_tokenizer=bleu,
        source=source.take(fits),
        target=target.take(fits),
        too_long=len(pairs) - len(fits),
    )


def read_texts(name: str, corpus: Corpus, feed: TextFeed, *, bleu: BleuTokenizer) -> ValidSet:
    """A validation set of a language model, whole: documents as they are, pairs without filters.

    Its bytes are those of the documents, or of the targets that fit. Raises InputError where nothing of it is measured.
    """
    lines = range(len(corpus))
    reasons = [TOO_LONG]
    if corpus.learns_answers:
        rows, counted, reasons = _answers(corpus, feed)
        sources, references, too_long = [], [], len(reasons)
    elif corpus.has_documents:
        passages = [corpus.passage(line) for line in lines]
        rows = [row for few in rows_of_passages(passages, feed.tokenizer, feed.max_tokens) for row in few]
        sources, references, too_long = [], [], 0
        counted = [passage.text for passage in passages]
    else:
        pairs = [corpus.pair(line) for line in lines]
        read = [(feed.pipeline.apply_source(source), target) for source, target in pairs]
        assert feed.separator is not None, "a set of pairs, and training without"
        tagged = [(pair, corpus.tags) for pair in read]
        whole = pair_rows(tagged, tokenizer=feed.tokenizer, separator=feed.separator)
        fits = [len(row.ids) <= feed.max_tokens for row in whole]
        rows = [row for row, fit in zip(whole, fits, strict=True) if fit]
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        counted, too_long = (
            [target for (_, target), fit in zip(read, fits, strict=True) if fit],
            fits.count(False),
        )
    _refuse_empty(name, corpus, [] if rows else reasons, max_tokens=feed.max_tokens, one_row=True)
    return ValidSet(
        name=name,
        sources=sources,
        references=references,
        tags=corpus.tags,
        bleu_tokenizer=bleu,
        source=no_source(len(rows)),
        target=Ragged.of([row.ids for row in rows]),
        too_long=too_long,
        prompt=np.array([row.prompt for row in rows], np.int32),
        num_bytes=sum(len(text.encode()) for text in counted),
        documents=corpus if corpus.has_documents else None,
    )


def _refuse_empty(
    name: str, corpus: Corpus, reasons: list[str], *, max_tokens: int, one_row: bool = False
) -> None:
    """Raises InputError if every example was dropped (`reasons` says why): the loss over no tokens would be NaN."""
    if reasons:
        counted = Counter(reasons)
        raise input_error(
            f"data.valid: the set {name} has no targets left to measure the loss on",
            got=f"{len(corpus):,} examples, all dropped: {', '.join(sorted(counted))}",
            allowed=f"at least one of at most {max_tokens} tokens, with a target",
            fix=fix_for_dropped(counted, shares_length=one_row),
        )


def _answers(corpus: Corpus, feed: TextFeed) -> tuple[list[Row], list[str], list[str]]:
    """The rows of all answers that are measured, the text of each, and why others are not."""
    assert feed.chats is not None, "conversations, and no template"
    found = [feed.chats.rows(*corpus.conversation(line)) for line in range(len(corpus))]
    rows = [row for each in found for row in each.rows]
    texts = feed.tokenizer.decode([row.ids[row.prompt :] for row in rows])
    return rows, texts, [reason for each in found for reason in each.dropped]


def spread(count: int, limit: int | None) -> list[int]:
    """At most `limit` numbers below `count`, evenly spread."""
    if limit is None or limit >= count:
        return list(range(count))
    return [i * count // limit for i in range(limit)]
