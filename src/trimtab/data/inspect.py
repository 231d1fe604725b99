"""Inspects the data as training will see it: lengths, unknown tokens, dropped examples with reasons, repeats."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trimtab.data.corpus import Corpus
from trimtab.data.factored_pieces import pieces_alone
from trimtab.data.formats.reversed import ReversedPairs
from trimtab.data.id_filter import TOO_LONG, reasons_in_ids
from trimtab.data.inspection_report import (
    MOST_EXAMPLES,
    CorpusReport,
    Example,
    Overlap,
    Quantiles,
    Reason,
    Report,
    Side,
    example,
    render,
)
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import Dropped, Pipeline
from trimtab.types import Ragged

__all__ = ["Report", "inspect_data", "render"]

_CHUNK = 1024


def inspect_data(
    corpora: Sequence[Corpus],
    *,
    pipeline: Pipeline,
    tokenizers: Tokenizers,
    max_tokens: int,
    one_row: bool = False,
    valid: Sequence[Corpus] = (),
    limit: int = 200_000,
) -> Report:
    """Reads at most `limit` pairs of each corpus, evenly spread, and counts; a corpus that is read both ways once.

    With `one_row` source and target share `max_tokens`, as those of a language model do. Duplicates and overlap are
    those among the pairs that were read, so with a limit they are lower bounds.
    """
    # Validation sets are not filtered.
    unfiltered = pipeline.of_translation
    tokenizer, look = tokenizers.target, _Look(tokenizers, max_tokens, one_row, limit)
    forward = [number for number, corpus in enumerate(corpora) if not corpus.is_reversed]
    trains = [look.at(corpora[number], pipeline.of(number)) for number in forward]
    both = [corpus.pairs.pairs for corpus in corpora if isinstance(corpus.pairs, ReversedPairs)]
    valids = [look.at(corpus, unfiltered) for corpus in valid]
    return Report(
        max_tokens=max_tokens,
        train=tuple(
            replace(seen.summary(tokenizer), both_directions=any(seen.corpus.pairs is each for each in both))
            for seen in trains
        ),
        valid=tuple(seen.summary(tokenizer) for seen in valids),
        overlap=tuple(_overlap(held, train) for held in valids for train in trains),
        one_row=one_row,
    )


@dataclass(slots=True)
class _SeenSide:
    """What is counted of one side of a corpus."""

    tokens: list[np.ndarray] = field(default_factory=list)
    """Lengths of the rows, an array for each chunk."""
    words: list[int] = field(default_factory=list)
    num_characters: int = 0
    num_unknown: int = 0
    num_bytes: int = 0

    def add(self, texts: list[str], rows: Ragged, tokenizer: AnyTokenizer) -> None:
        self.tokens.append(rows.lengths)
        self.words.extend(len(text.split()) for text in texts)
        self.num_characters += sum(map(len, texts))
        self.num_unknown += int((rows.values == tokenizer.unknown).sum())
        self.num_bytes += int(tokenizer.is_byte[rows.values].sum())

    @property
    def num_tokens(self) -> int:
        return sum(int(lengths.sum()) for lengths in self.tokens)

    def summary(self, *, special: int) -> Side:
        """`special` symbols (tags, end) stand for no characters in each row."""
        tokens = max(1, self.num_tokens)
        return Side(
            tokens=_quantiles(np.concatenate([np.zeros(0, np.int64), *self.tokens])),
            words=_quantiles(np.array(self.words, np.int64)),
            unknown_rate=self.num_unknown / tokens,
            byte_rate=self.num_bytes / tokens,
            characters_per_token=self.num_characters / max(1, self.num_tokens - special * len(self.words)),
        )


@dataclass(slots=True)
class _Seen:
    """What is counted while a corpus is read."""

    corpus: Corpus
    num_lines: int = 0
    num_same: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: dict[str, list[Example]] = field(default_factory=lambda: defaultdict(list))
    source_hashes: list[int] = field(default_factory=list)
    pair_hashes: list[int] = field(default_factory=list)
    source: _SeenSide = field(default_factory=_SeenSide)
    target: _SeenSide = field(default_factory=_SeenSide)

    def note(self, pair: tuple[str, str]) -> None:
        """Counts a pair as the file has it."""
        self.num_lines += 1
        self.num_same += self.corpus.is_copy(*pair)
        self.source_hashes.append(hash(pair[0]))
        self.pair_hashes.append(hash(pair))

    def drop(self, reason: str, line: int) -> None:
        """Counts a pair that is not trained on; the first ones are kept to be shown, as the file has them."""
        self.dropped[reason] += 1
        if len(self.examples[reason]) < MOST_EXAMPLES:
            number = self.corpus.line_number(line)
            self.examples[reason].append(example(number, *self.corpus.pair(line)))

    def summary(self, tokenizer: AnyTokenizer) -> CorpusReport:
        counts = sorted(self.dropped.items(), key=lambda each: (-each[1], each[0]))
        return CorpusReport(
            name=self.corpus.name,
            pairs=len(self.corpus),
            inspected=self.num_lines,
            kept=self.num_lines - sum(self.dropped.values()),
            source=self.source.summary(special=1 + len(self.corpus.tags)),
            target=self.target.summary(special=1),
            target_per_source=self.target.num_tokens / max(1, self.source.num_tokens),
            too_long=self.dropped.get(TOO_LONG, 0),
            dropped={reason: Reason(count, tuple(self.examples[reason])) for reason, count in counts},
            same_share=self.num_same / max(1, self.num_lines),
            in_one_language=self.corpus.is_monolingual,
            passed_over=self.corpus.passed_over,
            duplicate_share=1 - len(set(self.pair_hashes)) / max(1, self.num_lines),
        )


@dataclass(frozen=True, slots=True)
class _Look:
    """How corpora are read."""

    tokenizers: Tokenizers
    max_tokens: int
    one_row: bool
    limit: int

    def at(self, corpus: Corpus, pipeline: Pipeline) -> _Seen:
        seen = _Seen(corpus)
        rng = np.random.default_rng(0) if pipeline.needs_random else None
        for chunk in self._chunks(len(corpus)):
            lines: list[int] = []
            gone: list[tuple[int, str]] = []
            sources: list[str] = []
            targets: list[str] = []
            for line in chunk:
                pair = corpus.pair(line)
                seen.note(pair)
                outcome = pipeline.apply(*pair, rng, line)
                if isinstance(outcome, Dropped):
                    gone.append((line, outcome.reason))
                else:
                    lines.append(line)
                    sources.append(outcome[0])
                    targets.append(outcome[1])
            source = Ragged.of(self.tokenizers.source.encode_with_tags(sources, corpus.tags))
            target = Ragged.of(self.tokenizers.target.encode(targets))
            pieces = pieces_alone(source, self.tokenizers.source.num_ids)
            seen.source.add(sources, pieces, self.tokenizers.source)
            seen.target.add(targets, target, self.tokenizers.target)
            found = reasons_in_ids(
                source,
                target,
                num_tags=len(corpus.tags),
                max_tokens=self.max_tokens,
                one_row=self.one_row,
            )
            gone += [(line, reason) for line, reason in zip(lines, found, strict=True) if reason]
            for line, reason in sorted(gone):
                seen.drop(reason, line)
        return seen

    def _chunks(self, num_lines: int) -> Iterator[list[int]]:
        num_read = min(num_lines, self.limit)
        for start in range(0, num_read, _CHUNK):
            yield [number * num_lines // num_read for number in range(start, min(start + _CHUNK, num_read))]


def _overlap(valid: _Seen, train: _Seen) -> Overlap:
    # Compared as 64-bit hashes: among ten million lines a false match is a matter of one in a million.
    found = np.isin(np.array(valid.source_hashes, np.int64), np.array(train.source_hashes, np.int64))
    count = int(found.sum())
    return Overlap(valid.corpus.name, train.corpus.name, count, count / max(1, valid.num_lines))


def _quantiles(lengths: np.ndarray) -> Quantiles:
    if len(lengths) == 0:
        return Quantiles(0, 0, 0, 0, 0, 0)
    at = np.quantile(lengths, [0, 0.05, 0.5, 0.95, 0.99, 1], method="inverted_cdf")
    return Quantiles(*(int(each) for each in at))
