"""What is wrong with the corpora of a run: sides that drift apart, repeats, validation lines in training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab.data.alignment import Alignment, look_at_alignment, quick_lines
from trimtab.data.corpus import Corpus
from trimtab.data.repeats import Repeats, Shared, find_repeats, find_shared
from trimtab.data.scan import ReadsPairs, Scan, scan_corpus
from trimtab.data.swapped import Swapped, find_swapped

QUICK_LINES = 20_000
"""Lines of each corpus whose alignment is looked at before a run, in blocks: a second for each corpus."""
QUICK_OVERLAP_LINES = 200_000
"""Training lines that validation sets are compared with before a run, of all corpora together: some seconds."""


@runtime_checkable
class NamedPairs(ReadsPairs, Protocol):
    """A validation set, as far as it matters here."""

    @property
    def name(self) -> str:
        """As the recipe calls it."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Put before each source."""
        ...


@dataclass(frozen=True, slots=True)
class CorpusChecks:
    """One corpus."""

    name: str
    alignment: Alignment | None
    """None for a corpus in one language."""
    repeats: Repeats


@dataclass(frozen=True, slots=True)
class DataChecks:
    """All of them."""

    corpora: tuple[CorpusChecks, ...]
    shared: tuple[Shared, ...]
    swapped: tuple[Swapped, ...]


def check_data(train: Sequence[Corpus], valid: Sequence[Corpus]) -> DataChecks:
    """Reads every line of every corpus once, those that are read both ways in one direction."""
    train = [corpus for corpus in train if not corpus.is_reversed]
    scans = {id(corpus): scan_corpus(corpus, range(len(corpus))) for corpus in (*train, *valid)}
    return DataChecks(
        corpora=tuple(_checks(corpus, scans[id(corpus)]) for corpus in (*train, *valid)),
        shared=tuple(
            find_shared(scans[id(held)], scans[id(corpus)], names=(held.name, corpus.name))
            for held in valid
            for corpus in train
        ),
        swapped=tuple(swapped_among(train, valid)),
    )


def quick_alignment(corpus: Corpus) -> Alignment:
    """The alignment as at most `QUICK_LINES` lines show it."""
    scan = scan_corpus(corpus, quick_lines(len(corpus), most=QUICK_LINES))
    return look_at_alignment(corpus, scan, place=corpus.place)


def quick_shared(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> list[Shared]:
    """Validation lines among at most `QUICK_OVERLAP_LINES` training lines, evenly spread over all corpora."""
    train = [corpus for corpus in train if not corpus.is_reversed]
    total = sum(map(len, train))
    found: list[Shared] = []
    scans = [scan_corpus(held, quick_lines(len(held), most=QUICK_LINES)) for held in valid]
    for corpus in train:
        share = min(1.0, QUICK_OVERLAP_LINES / max(1, total))
        lines = np.unique(np.linspace(0, len(corpus) - 1, max(1, int(len(corpus) * share))).astype(np.int64))
        scan = scan_corpus(corpus, lines.tolist())
        found += [
            find_shared(held_scan, scan, names=(held.name, corpus.name))
            for held, held_scan in zip(valid, scans, strict=True)
        ]
    return found


def swapped_among(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> list[Swapped]:
    """Corpora with the sides exchanged against the first of their tags; none in one language."""
    pairs = [corpus for corpus in train if not corpus.is_monolingual]
    return find_swapped([(corpus.name, corpus.tags, corpus) for corpus in (*pairs, *valid)])


def _checks(corpus: Corpus, scan: Scan) -> CorpusChecks:
    alignment = None if corpus.is_monolingual else look_at_alignment(corpus, scan, place=corpus.place)
    return CorpusChecks(corpus.name, alignment, find_repeats(scan))
