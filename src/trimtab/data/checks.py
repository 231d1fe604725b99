"""What is wrong with the corpora of a run: sides that drift apart, repeats, validation lines in training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab.data.alignment import Alignment, QuickLook, look_at_alignment, look_at_lengths, quick_lines
from trimtab.data.corpus import Corpus
from trimtab.data.formats.reversed import ReversedPairs
from trimtab.data.repeats import Repeats, Shared, find_repeats, find_shared
from trimtab.data.scan import ReadsPairs, Scan, scan_corpus, scan_lengths
from trimtab.data.shared_pairs import HeldOut, SharedPairs, find_shared_pairs
from trimtab.data.swapped import Swapped, find_swapped

QUICK_LINES = 20_000
"""Lines of each corpus whose alignment is looked at before a run, in blocks: a fifth of a second for each corpus."""
QUICK_OVERLAP_LINES = 200_000
"""Training lines that validation sets are compared with before a run, of all corpora together: half a second."""


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
    """Reads every line of every corpus once, and compares validation sets with both readings of one that is read both
    ways."""
    forward = [corpus for corpus in train if not corpus.is_reversed]
    scans = {id(corpus.pairs): scan_corpus(corpus, range(len(corpus))) for corpus in (*forward, *valid)}
    return DataChecks(
        corpora=tuple(_checks(corpus, scans[id(corpus.pairs)]) for corpus in (*forward, *valid)),
        shared=tuple(_shared(train, valid, scans)),
        swapped=tuple(swapped_among(forward, valid)),
    )


def quick_alignment(corpus: Corpus) -> QuickLook:
    """Whether the sides drift apart, as the lengths of at most `QUICK_LINES` lines show it: blocks of lines in a row,
    spread over the corpus."""
    lines = quick_lines(len(corpus), most=QUICK_LINES)
    return look_at_lengths(scan_lengths(corpus, lines), place=corpus.place)


def quick_shared(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> list[SharedPairs]:
    """Pairs of validation sets, of each at most `QUICK_LINES`, that stand among at most `QUICK_OVERLAP_LINES` training
    pairs, evenly spread over all corpora; both texts must be the same. Of a corpus that is read both ways as many are
    looked at in each direction."""
    total = sum(len(corpus) for corpus in train if not corpus.is_reversed)
    held = [_held_out(each) for each in valid]
    found: list[SharedPairs] = []
    for corpus in train:
        share = min(1.0, QUICK_OVERLAP_LINES / max(1, total))
        spread = np.linspace(0, len(corpus) - 1, max(1, int(len(corpus) * share)))
        lines = np.unique(spread.astype(np.int64)).tolist()
        pairs = zip(lines, corpus.several(lines), strict=True)
        # What is the same on both sides was found in the forward reading.
        new = ((line, pair) for line, pair in pairs if not corpus.is_reversed or pair[0] != pair[1])
        found += find_shared_pairs(held, train=corpus.name, pairs=new)
    return found


def _held_out(valid: NamedPairs) -> HeldOut:
    lines = quick_lines(len(valid), most=QUICK_LINES)
    return HeldOut(valid.name, lines, list(valid.several(lines)))


def swapped_among(train: Sequence[Corpus], valid: Sequence[NamedPairs]) -> list[Swapped]:
    """Corpora with the sides exchanged against the first of their tags; none in one language."""
    pairs = [corpus for corpus in train if not corpus.is_monolingual]
    return find_swapped([(corpus.name, corpus.tags, corpus) for corpus in (*pairs, *valid)])


def _shared(train: Sequence[Corpus], valid: Sequence[Corpus], scans: Mapping[int, Scan]) -> Iterator[Shared]:
    for held in valid:
        for corpus in train:
            pairs = corpus.pairs
            read = (
                scans[id(pairs.pairs)].exchanged() if isinstance(pairs, ReversedPairs) else scans[id(pairs)]
            )
            found = find_shared(scans[id(held.pairs)], read, names=(held.name, corpus.name))
            places = [
                (held.line_number(here - 1), corpus.line_number(there - 1)) for here, there in found.places
            ]
            yield replace(found, places=tuple(places))


def _checks(corpus: Corpus, scan: Scan) -> CorpusChecks:
    alignment = None if corpus.is_monolingual else look_at_alignment(corpus, scan, place=corpus.place)
    repeats = find_repeats(scan)
    groups = [
        replace(group, lines=tuple(corpus.line_number(line - 1) for line in group.lines))
        for group in repeats.groups
    ]
    return CorpusChecks(corpus.name, alignment, replace(repeats, groups=tuple(groups)))
